package io.epochal.rest.source

import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import io.epochal.core.journal.{FileStore, Segment}
import io.epochal.kit.source.journal.{JournalPositions, SourceJournal}
import io.epochal.rest.http.Validator

/** The positions of a stream's members, in a journal of their own: there may be far more than fit into an offset.
  *
  * An entry is the position of one member; of several entries the last one counts. An offset names the segments from the
  * last one that has all members on. It names at most [[MemberLog.MaxSegments]]: then, or when most members have moved, all
  * are written again.
  *
  * @param store
  *   its directory
  * @param errors
  *   of the stream
  */
final private[rest] class MemberLog(store: FileStore, errors: ListErrors, names: Seq[String]) {
  import MemberLog._

  // Without its positions, members would be read again from their first records: never a loss to skip.
  private val journal = new SourceJournal[RestPosition, Unit](
    store,
    errors.source,
    Positions,
    (from, until, reason) => errors.dataLoss(from, until, s"positions of lists are lost: $reason", fails = true),
    1)

  /** The end of the log when the run began. */
  private var endAtStart = Option.empty[Long]

  /** Reads the positions of an offset into a table. */
  def read(segments: Seq[Segment], table: MemberTable): Unit = {
    if (endAtStart.isEmpty) endAtStart = Some(segments.lastOption.fold(0L)(_.until))
    for (first <- segments.headOption)
      journal.read(segments, first.from, segments.last.until, "each list continues at its own") { (slice, bytes) =>
        new String(bytes, 0, slice.frame.length, UTF_8).linesIterator.foreach(restore(_, table))
      }
  }

  /** Adds the members that have moved.
    *
    * @param before
    *   the segments of the log
    * @return
    *   the segments with them
    */
  def add(table: MemberTable, before: Seq[Segment]): Seq[Segment] = {
    val movedMembers = table.membersToLog
    if (movedMembers.isEmpty) before
    else {
      val changes = before.drop(1).map(size).sum + movedMembers.size
      val whole = before.isEmpty || before.size >= MaxSegments || changes > math.max(FewEntries, size(before.head))
      val entries = if (whole) table.membersWithPosition else movedMembers.iterator
      val segment = write(entries, before.lastOption.fold(0L)(_.until), whole)
      table.log(movedMembers)
      if (whole) Seq(segment) else before :+ segment
    }
  }

  /** As in [[SourceJournal]]. */
  def release(end: RestPosition): Unit = if (end.log.nonEmpty) journal.release(end)

  /** Removes what earlier runs wrote and did not log, once Spark has logged an offset of this run. */
  def sweep(position: RestPosition): Unit = endAtStart.foreach(journal.sweep(_, position, true))

  private def write(members: Iterator[MemberTable.Member], from: Long, whole: Boolean): Segment = {
    val writer = journal.begin(from)
    members.grouped(FrameEntries).foreach { some =>
      val bytes = some.map(entry(_, whole)).mkString("\n").getBytes(UTF_8)
      journal.append(writer, some.size, bytes, 0, bytes.length)
    }
    journal.seal(writer)
  }

  private def entry(member: MemberTable.Member, whole: Boolean): String = {
    val fields = mapper.createObjectNode()
    val params = fields.putObject("params")
    MemberTable.values(names, member.key).foreach { case (name, value) => params.put(name, value) }
    val position = member.position
    fields.put("records", position.records)
    position.next.token.foreach(fields.put("token", _))
    if (position.next.deliveredCount > 0) fields.put("taken", position.next.deliveredCount)
    if (position.lastReceipt > 0) fields.put("changed", position.lastReceipt)
    position.unless.foreach(validator => fields.putArray("unless").add(validator.header).add(validator.value))
    member.versions.foreach(_.write(fields.putObject("since"), whole))
    mapper.writeValueAsString(fields)
  }

  private def restore(line: String, table: MemberTable): Unit = {
    val fields = mapper.readTree(line)
    val params = fields.path("params").properties().asScala.map(one => one.getKey -> one.getValue.asText).toMap
    table.restore(MemberTable.key(names, params)) { versions =>
      versions.foreach(_.restore(fields.path("since")))
      val token = Option(fields.get("token")).map(_.asText)
      MemberPosition(
        fields.path("records").asLong,
        NextPage(token, fields.path("taken").asLong),
        Option(fields.get("unless")).map(pair => Validator(pair.path(0).asText, pair.path(1).asText)),
        fields.path("changed").asLong,
        isResumed = versions.nonEmpty && token.nonEmpty)
    }
  }
}

private[rest] object MemberLog {

  /** The maximum number of segments that an offset names. */
  val MaxSegments = 16

  /** Up to this number of changes, only the members that have moved are written. */
  private val FewEntries = 1000L
  private val FrameEntries = 500
  private val mapper = new ObjectMapper()

  private def size(segment: Segment): Long = segment.until - segment.from

  /** The journal's rows are entries. */
  private object Positions extends JournalPositions[RestPosition, Unit] {
    override def rows(position: RestPosition): Long = position.log.lastOption.fold(0L)(_.until)
    override def segments(position: RestPosition): Option[Seq[Segment]] = Some(position.log)
    override def cursor(position: RestPosition): Unit = ()
    override def after(start: RestPosition, rows: Long, segments: Seq[Segment], cursor: Unit): RestPosition =
      throw new UnsupportedOperationException("positions are taken from the journal of rows")
    override def at(like: RestPosition, row: Long): RestPosition = like
  }
}

/** The positions of a stream whose rows are those of many members: the cursor is the log of their positions. */
private[rest] object MemberPositions extends JournalPositions[RestPosition, Seq[Segment]] {
  override def rows(position: RestPosition): Long = position.records
  override def segments(position: RestPosition): Option[Seq[Segment]] = position.journal
  override def cursor(position: RestPosition): Seq[Segment] = position.log
  override def after(start: RestPosition, rows: Long, segments: Seq[Segment], cursor: Seq[Segment]): RestPosition =
    if (cursor.isEmpty) RestPosition.Journalled(start.records + rows, segments)
    else RestPosition.OfMembers(start.records + rows, segments, cursor)
  override def at(like: RestPosition, row: Long): RestPosition = RestPosition.Planned(row)
}
