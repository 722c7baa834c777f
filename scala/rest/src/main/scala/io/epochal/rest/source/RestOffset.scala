package io.epochal.rest.source

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.epochal.core.journal.Segment
import io.epochal.core.offset.OffsetFormat

/** How far the API has been delivered. Exclusive: with `records = 10` the records 0 to 9 are delivered.
  *
  * @param journal
  *   None if the records were never journalled, as at the start of every stream
  * @param crawl
  *   how often the list was restarted from its first record: `records` counts since then
  * @param members
  *   the position of each member of a fan-out, by its names and values; `records` is their sum. A missing member is at
  *   the start
  * @param marks
  *   digests of records before this position, or before the end of its journal, oldest first: a changed digest shows
  *   that the list has shifted
  * @param log
  *   the segments with the positions of the members that a parent's records name: see [[MemberLog]]
  */
final case class RestPosition(
    records: Long,
    journal: Option[JournalPosition] = None,
    crawl: Long = 0,
    members: Map[Map[String, String], RestPosition] = Map.empty,
    marks: Seq[Mark] = Nil,
    log: Seq[Segment] = Nil
) {

  /** The first record delivered between this position and a later one. */
  def firstUntil(end: RestPosition): Long = if (crawl == end.crawl) records else 0L

  /** The position of a member. */
  def of(member: Map[String, String]): RestPosition = members.getOrElse(member, RestPosition(0))

  /** The members, always in the same order. */
  def ordered: Seq[(Map[String, String], RestPosition)] = {
    import scala.math.Ordering.Implicits.seqOrdering
    members.toSeq.sortBy { case (params, _) => params.toSeq.sorted }
  }

  /** Whether nothing was received before it. */
  def isFirst: Boolean = this == RestPosition(0, journal.filter(found => found.segments.isEmpty && found.next.isEmpty))

  /** Whether it or a member has marks. */
  def marked: Boolean = marks.nonEmpty || members.values.exists(_.marked)

  /** Whether it or a member has a log. */
  def isLogged: Boolean = log.nonEmpty || members.values.exists(_.isLogged)
}

/** The part of the journal that belongs to a position.
  *
  * @param segments
  *   those that hold records from the start of the batch that ends at this position, in order
  * @param next
  *   the page after the last segment; None if pages are found by counting records
  */
final case class JournalPosition(segments: Seq[Segment], next: Option[NextPage]) {

  /** A copy without segments that end before a record. */
  def from(record: Long): JournalPosition = copy(segments = segments.filter(_.until > record))
}

/** Identifies a record of a counted list.
  *
  * @param record
  *   its number in the list
  * @param digest
  *   hexadecimal
  * @param of
  *   JSON Pointer within the record to the digested value; empty for the whole record
  */
final case class Mark(record: Long, digest: String, of: String)

/** A page of a [[ChainedPagination]] that is to be requested.
  *
  * @param token
  *   None for the first page
  * @param taken
  *   number of records already taken from its front: it was the last page then, and may have grown
  */
final case class NextPage(token: Option[String], taken: Long)

object NextPage {
  val First: NextPage = NextPage(None, 0)
}

/** Version 1 has only `records`, version 2 a journal, version 3 members or a crawl, version 4 marks, version 5 a log of
  * positions. A position is written in the lowest version that can express it.
  */
object RestOffset extends OffsetFormat[RestPosition](RestOptions.Format, version = 5) {

  override protected def versionOf: RestPosition => Int = position =>
    if (position.isLogged) 5
    else if (position.marked) 4
    else if (position.members.nonEmpty || position.crawl > 0) 3
    else if (position.journal.isDefined) 2
    else 1

  override protected def write(position: RestPosition, fields: ObjectNode): Unit = {
    fields.put("records", position.records)
    if (position.crawl > 0) fields.put("crawl", position.crawl)
    position.journal.foreach { journal =>
      Segment.writeAll(journal.segments, fields)
      journal.next.foreach { page =>
        val next = fields.putObject("next")
        page.token.foreach(next.put("token", _))
        next.put("taken", page.taken)
      }
    }
    if (position.log.nonEmpty) Segment.writeAll(position.log, fields.putObject("positions"))
    if (position.marks.nonEmpty) {
      val marks = fields.putArray("marks")
      position.marks.foreach { mark =>
        val written = marks.addObject().put("record", mark.record).put("digest", mark.digest)
        if (mark.of.nonEmpty) written.put("of", mark.of)
      }
    }
    if (position.members.nonEmpty) {
      val members = fields.putArray("members")
      position.ordered.foreach { case (params, one) =>
        val member = members.addObject()
        val names = member.putObject("params")
        params.toSeq.sorted.foreach { case (name, value) => names.put(name, value) }
        write(one, member)
      }
    }
  }

  override protected def read(version: Int, fields: ObjectNode): RestPosition =
    if (version >= 3 && fields.has("members")) fanned(fields)
    else single(fields, version == 2 || version > 2 && fields.has("segments"), version == 3 || fields.has("crawl"))

  private def single(fields: ObjectNode, journalled: Boolean, crawled: Boolean): RestPosition = RestPosition(
    count(fields, "records"),
    Option.when(journalled)(JournalPosition(Segment.readAll(fields), Option(fields.get("next")).map(next))),
    if (crawled) count(fields, "crawl") else 0L,
    marks = fields.path("marks").elements().asScala.map(mark).toVector,
    log =
      Option(fields.get("positions")).fold(Seq.empty[Segment])(one => Segment.readAll(fieldsOf(one, "\"positions\"")))
  )

  private def fanned(fields: ObjectNode): RestPosition = {
    require(fields.path("members").isArray && !fields.path("members").isEmpty, "\"members\" is not an array of members")
    val members = fields.path("members").elements().asScala.map(member).toSeq
    require(members.map(_._1).distinct.size == members.size, "a member is there twice")
    val records = count(fields, "records")
    require(members.map(_._2.records).sum == records, "\"records\" is not what its members have")
    RestPosition(records, members = members.toMap)
  }

  private def member(node: JsonNode): (Map[String, String], RestPosition) = {
    val fields = fieldsOf(node, "a member")
    val params = FanOut.row(fields.path("params"))
    require(params.nonEmpty, "\"params\" of a member is not an object of texts")
    params.get -> single(fields, fields.has("segments"), crawled = false)
  }

  private def mark(node: JsonNode): Mark = {
    val fields = fieldsOf(node, "a mark")
    require(fields.path("digest").isTextual, "\"digest\" of a mark is not a text")
    Mark(count(fields, "record"), fields.path("digest").textValue, fields.path("of").asText(""))
  }

  private def next(node: JsonNode): NextPage = {
    val fields = fieldsOf(node, "\"next\"")
    val token = Option(fields.get("token"))
    require(token.forall(_.isTextual), "\"token\" is not a text")
    NextPage(token.map(_.textValue), count(fields, "taken"))
  }

  private def fieldsOf(node: JsonNode, what: String): ObjectNode = node match {
    case fields: ObjectNode => fields
    case _                  => throw new IllegalArgumentException(s"$what is not an object")
  }
}
