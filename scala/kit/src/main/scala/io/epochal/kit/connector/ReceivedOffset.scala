package io.epochal.kit.connector

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.epochal.core.journal.Segment
import io.epochal.core.offset.OffsetFormat
import io.epochal.kit.source.journal.JournalPositions

/** @param journal
  *   the segments that hold rows before it; None where nothing was received yet
  */
final private[connector] case class ReceivedPosition[C](rows: Long, journal: Option[Seq[Segment]], cursor: C)

/** `{"v":1,"format":"queue","source":"…","rows":12,"position":…,"segments":[…]}` */
final private[connector] class ReceivedOffset[C](format: String, cursors: PositionFormat[C])
    extends OffsetFormat[ReceivedPosition[C]](format, cursors.version) {

  override protected def write(position: ReceivedPosition[C], fields: ObjectNode): Unit = {
    fields.put("rows", position.rows)
    fields.set[JsonNode]("position", cursors.write(position.cursor)): Unit
    position.journal.foreach(Segment.writeAll(_, fields))
  }

  override protected def read(version: Int, fields: ObjectNode): ReceivedPosition[C] = {
    require(fields.hasNonNull("position"), "it has no \"position\"")
    ReceivedPosition(
      count(fields, "rows"),
      Option.when(fields.has("segments"))(Segment.readAll(fields)),
      cursors.read(version, fields.get("position")))
  }
}

final private[connector] class ReceivedPositions[C] extends JournalPositions[ReceivedPosition[C], C] {
  override def rows(position: ReceivedPosition[C]): Long = position.rows
  override def segments(position: ReceivedPosition[C]): Option[Seq[Segment]] = position.journal
  override def cursor(position: ReceivedPosition[C]): C = position.cursor

  override def after(start: ReceivedPosition[C], rows: Long, segments: Seq[Segment], cursor: C): ReceivedPosition[C] =
    ReceivedPosition(start.rows + rows, Some(segments), cursor)

  override def at(like: ReceivedPosition[C], row: Long): ReceivedPosition[C] = like.copy(rows = row, journal = None)
}
