package io.epochal.cdc.change

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

/** The progress of a snapshot. A run that was killed is followed by one with a later snapshot of the server, which reads the
  * rows that are left.
  *
  * @param rows
  *   written so far
  * @param stamp
  *   their latest `_commit_timestamp`
  * @param bounds
  *   between the ranges of the table: the last key of each but the last, as text
  * @param runs
  *   the snapshots of the server, in order
  * @param ranges
  *   how far each range was read
  */
final private[cdc] case class SnapshotState(
    rows: Long,
    stamp: Long,
    bounds: Seq[Seq[String]],
    runs: Seq[ServerSnapshot],
    ranges: Map[Int, RangeState]) {

  def range(number: Int): RangeState = ranges.getOrElse(number, RangeState.Empty)

  /** Ranges that are not read completely. */
  def left: Seq[Int] = (0 to bounds.size).filterNot(range(_).isDone)

  def isComplete: Boolean = runs.nonEmpty && left.isEmpty

  /** The state after a frame with this note.
    *
    * @param part
    *   the rows of the snapshot in the frame
    */
  def after(part: Option[StoredTransaction], note: SnapshotState): SnapshotState = note.copy(
    rows = part.fold(math.max(rows, note.rows))(_.ordinal),
    stamp = part.foldLeft(math.max(stamp, note.stamp))((known, rows) => math.max(known, rows.transaction.stamp)),
    ranges = ranges ++ note.ranges
  )

  def write(fields: ObjectNode): Unit = {
    fields.put("rows", rows).put("stamp", stamp)
    val keys = fields.putArray("bounds")
    bounds.foreach { bound =>
      val values = keys.addArray()
      bound.foreach(values.add)
    }
    val snapshots = fields.putArray("runs")
    runs.foreach(run => snapshots.addObject().put("snapshot", run.text).put("lsn", run.lsn))
    val array = fields.putArray("ranges")
    ranges.foreach { case (number, range) =>
      val parts = array.addObject().put("range", number).putArray("parts")
      range.parts.foreach { case (run, key) =>
        val part = parts.addObject().put("run", run)
        key.foreach { values =>
          val texts = part.putArray("key")
          values.foreach(texts.add)
        }
      }
    }
  }
}

private[cdc] object SnapshotState {
  val Empty: SnapshotState = SnapshotState(0, Long.MinValue, Nil, Nil, Map.empty)

  /** The key in [[ChangeState.snapshots]] where one table is captured; of several, each has its OID. */
  val OnlyTable = 0

  /** The progress of some tables, as a frame has it. */
  def note(snapshots: Map[Int, SnapshotState]): String = {
    val fields = ChangeState.mapper.createObjectNode()
    if (snapshots.keySet == Set(OnlyTable)) snapshots(OnlyTable).write(fields) else writeAll(snapshots, fields)
    ChangeState.mapper.writeValueAsString(fields)
  }

  def readNote(note: String): Map[Int, SnapshotState] = {
    val fields = ChangeState.mapper.readTree(note)
    if (fields.has("tables")) readAll(fields) else Map(OnlyTable -> read(fields))
  }

  def writeAll(snapshots: Map[Int, SnapshotState], fields: ObjectNode): Unit = {
    val array = fields.putArray("tables")
    (snapshots - OnlyTable).foreach { case (table, snapshot) => snapshot.write(array.addObject().put("table", table)) }
  }

  def readAll(fields: JsonNode): Map[Int, SnapshotState] =
    fields.path("tables").elements.asScala.map(node => node.get("table").intValue -> read(node)).toMap

  def read(fields: JsonNode): SnapshotState = {
    def texts(node: JsonNode) = node.elements.asScala.map(_.textValue).toVector
    SnapshotState(
      fields.path("rows").asLong,
      fields.path("stamp").asLong(Long.MinValue),
      fields.path("bounds").elements.asScala.map(texts).toVector,
      fields
        .path("runs")
        .elements
        .asScala
        .map(run => ServerSnapshot(run.get("snapshot").textValue, run.get("lsn").longValue))
        .toVector,
      fields
        .path("ranges")
        .elements
        .asScala
        .map { range =>
          val parts = range.get("parts").elements.asScala.map { part =>
            part.get("run").intValue -> Option(part.get("key")).map(texts)
          }
          range.get("range").intValue -> RangeState(parts.toVector)
        }
        .toMap
    )
  }
}

/** How far a range of the table was read.
  *
  * @param parts
  *   in the order of the keys: the number of the run, and the key of its last row, as text; None: it read to the end
  */
final private[cdc] case class RangeState(parts: Seq[(Int, Option[Seq[String]])]) {
  def isDone: Boolean = parts.lastOption.exists(_._2.isEmpty)

  /** The key of the last row that was written. */
  def last: Option[Seq[String]] = parts.lastOption.flatMap(_._2)

  /** The state after rows that a run has read, up to a key; None: to the end. */
  def after(run: Int, key: Option[Seq[String]]): RangeState = RangeState(parts.filter(_._1 != run) :+ (run -> key))
}

private[cdc] object RangeState {
  val Empty: RangeState = RangeState(Nil)
}
