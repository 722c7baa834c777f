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
  * @param options
  *   of the stream
  */
final private[rest] class MemberLog(store: FileStore, options: RestOptions, names: Seq[String]) {
  import MemberLog._

  // Without its positions, members would be read again from their first records: never a loss to skip.
  private val journal = new SourceJournal[RestPosition, Unit](
    store,
    options.source,
    Positions,
    (from, until, reason) => options.lost(from, until, s"positions of lists are lost: $reason", fails = true),
    1)

  /** The end of the log when the run began. */
  private var begun = Option.empty[Long]

  /** Reads the positions of an offset into a table. */
  def read(segments: Seq[Segment], table: MemberTable): Unit = {
    if (begun.isEmpty) begun = Some(segments.lastOption.fold(0L)(_.until))
    segments.headOption.foreach(first => read(segments, first.from, table))
  }

  private def read(segments: Seq[Segment], from: Long, table: MemberTable): Unit = {
    var bytes = Array.emptyByteArray
    def into(size: Int): Array[Byte] = {
      if (bytes.length < size) bytes = new Array[Byte](size)
      bytes
    }
    journal.read(segments, from, segments.last.until, "each list continues at its own")(into) { slice =>
      new String(bytes, 0, slice.frame.length, UTF_8).linesIterator.foreach(take(_, table))
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
    val moved = table.all.filter(_.moved).toVector
    if (moved.isEmpty) before
    else {
      val changes = before.drop(1).map(size).sum + moved.size
      val whole = before.isEmpty || before.size >= MaxSegments || changes > math.max(FewEntries, size(before.head))
      val written = if (whole) table.all.filter(_.answered) else moved.iterator
      val segment = write(written, before.lastOption.fold(0L)(_.until), whole)
      moved.foreach { member =>
        member.moved = false
        member.versions.foreach(_.logged())
      }
      if (whole) Seq(segment) else before :+ segment
    }
  }

  /** As in [[SourceJournal]]. */
  def release(end: RestPosition): Unit = if (end.log.nonEmpty) journal.release(end)

  /** Removes what earlier runs wrote and did not log, once Spark has logged an offset of this run. */
  def sweep(logged: RestPosition): Unit = begun.foreach(journal.sweep(_, logged, true))

  private def write(members: Iterator[Member], from: Long, whole: Boolean): Segment = {
    val writer = journal.begin(from)
    members.grouped(FrameEntries).foreach { some =>
      val bytes = some.map(entry(_, whole)).mkString("\n").getBytes(UTF_8)
      journal.append(writer, some.size, bytes, 0, bytes.length)
    }
    journal.seal(writer)
  }

  private def entry(member: Member, whole: Boolean): String = {
    val fields = mapper.createObjectNode()
    val params = fields.putObject("params")
    MemberTable.values(names, member.key).foreach { case (name, value) => params.put(name, value) }
    fields.put("records", member.records)
    if (member.token != null) fields.put("token", member.token)
    if (member.taken > 0) fields.put("taken", member.taken)
    if (member.changed > 0) fields.put("changed", member.changed)
    Option(member.unless).foreach(known => fields.putArray("unless").add(known.header).add(known.value))
    member.versions.foreach(_.write(fields.putObject("since"), whole))
    mapper.writeValueAsString(fields)
  }

  private def take(line: String, table: MemberTable): Unit = {
    val fields = mapper.readTree(line)
    val params = fields.path("params").properties().asScala.map(one => one.getKey -> one.getValue.asText).toMap
    val member = table.member(MemberTable.key(names, params))
    member.records = fields.path("records").asLong
    member.token = Option(fields.get("token")).map(_.asText).orNull
    member.taken = fields.path("taken").asLong
    member.changed = fields.path("changed").asLong
    member.unless = Option(fields.get("unless"))
      .map(known => Validator(known.path(0).asText, known.path(1).asText))
      .orNull
    member.versions.foreach(_.take(fields.path("since")))
    member.resumed = member.versions.nonEmpty && member.token != null
    member.answered = true
  }
}

private[rest] object MemberLog {

  /** The maximum number of segments that an offset names. */
  val MaxSegments = 16

  /** So many changes are always written without the members that have not moved. */
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
  override def segments(position: RestPosition): Option[Seq[Segment]] = position.journal.map(_.segments)
  override def cursor(position: RestPosition): Seq[Segment] = position.log
  override def after(start: RestPosition, rows: Long, segments: Seq[Segment], cursor: Seq[Segment]): RestPosition =
    RestPosition(start.records + rows, Some(JournalPosition(segments, None)), log = cursor)
  override def at(like: RestPosition, row: Long): RestPosition = RestPosition(row)
}
