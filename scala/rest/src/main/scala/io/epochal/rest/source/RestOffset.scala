package io.epochal.rest.source

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.epochal.core.journal.Segment
import io.epochal.core.offset.OffsetFormat

/** Version 1 has only `records`, version 2 a journal, version 3 members or a crawl, version 4 marks, version 5 a log of
  * positions. A position is written in the lowest version that can express it.
  */
object RestOffset extends OffsetFormat[RestPosition](RestOptions.Format, version = 5) {

  import RestPosition.{FannedOut, Journalled, OfMembers, Planned}

  override protected def versionOf: RestPosition => Int = {
    case _: OfMembers                => 5
    case FannedOut(lists)            => lists.values.map(versionOf).maxOption.fold(3)(math.max(3, _))
    case list if list.marks.nonEmpty => 4
    case list if list.crawl > 0      => 3
    case _: Journalled               => 2
    case _: Planned                  => 1
  }

  override protected def write(position: RestPosition, fields: ObjectNode): Unit = {
    fields.put("records", position.records)
    if (position.crawl > 0) fields.put("crawl", position.crawl)
    position match {
      case list: Journalled =>
        Segment.writeAll(list.segments, fields)
        list.next.foreach { page =>
          val next = fields.putObject("next")
          page.token.foreach(next.put("token", _))
          next.put("taken", page.deliveredCount)
        }
      case OfMembers(_, segments, log) =>
        Segment.writeAll(segments, fields)
        Segment.writeAll(log, fields.putObject("positions"))
      case FannedOut(_) =>
        val members = fields.putArray("members")
        position.listsInOrder.foreach { case (params, list) =>
          val member = members.addObject()
          val names = member.putObject("params")
          params.toSeq.sorted.foreach { case (name, value) => names.put(name, value) }
          write(list, member)
        }
      case _: Planned => ()
    }
    if (position.marks.nonEmpty) {
      val marks = fields.putArray("marks")
      position.marks.foreach { mark =>
        val node = marks.addObject().put("record", mark.record).put("digest", mark.digest)
        if (mark.of.nonEmpty) node.put("of", mark.of)
      }
    }
  }

  override protected def read(version: Int, fields: ObjectNode): RestPosition =
    if (version >= 3 && fields.has("members")) fannedOut(fields)
    else list(fields, version == 2 || version > 2 && fields.has("segments"), version == 3 || fields.has("crawl"))

  private def list(fields: ObjectNode, isJournalled: Boolean, hasCrawl: Boolean): RestPosition = {
    val records = count(fields, "records")
    def segments = if (isJournalled) Segment.readAll(fields) else Nil
    def crawl = if (hasCrawl) count(fields, "crawl") else 0L
    def marks = fields.path("marks").elements().asScala.map(mark).toVector
    Option(fields.get("positions")) match {
      case Some(log)            => OfMembers(records, segments, Segment.readAll(fieldsOf(log, "\"positions\"")))
      case None if isJournalled => Journalled(records, segments, Option(fields.get("next")).map(next), crawl, marks)
      case None                 => Planned(records, crawl, marks)
    }
  }

  private def fannedOut(fields: ObjectNode): RestPosition = {
    require(fields.path("members").isArray && !fields.path("members").isEmpty, "\"members\" is not an array of members")
    val lists = fields.path("members").elements().asScala.map(member).toSeq
    require(lists.map(_._1).distinct.size == lists.size, "a member is there twice")
    val position = FannedOut(lists.toMap)
    require(position.records == count(fields, "records"), "\"records\" is not what its members have")
    position
  }

  private def member(node: JsonNode): (Map[String, String], RestPosition) = {
    val fields = fieldsOf(node, "a member")
    val params = FanOut.row(fields.path("params"))
    require(params.nonEmpty, "\"params\" of a member is not an object of texts")
    params.get -> list(fields, fields.has("segments"), hasCrawl = false)
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
