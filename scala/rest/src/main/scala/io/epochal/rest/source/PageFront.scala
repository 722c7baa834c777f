package io.epochal.rest.source

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.kit.json.Json
import io.epochal.kit.record.Body

/** The header of a page in a journal: a JSON object.
  *
  * @param lines
  *   the line-based format of the page; None for a JSON array
  * @param origin
  *   the response's origin, if a column needed it
  * @param params
  *   the values of a parent's record that named the list
  */
final private[rest] case class PageFront(
    lines: Option[String],
    origin: Option[ResponseOrigin],
    params: Map[String, String] = Map.empty) {

  /** Empty if all fields are absent. */
  def bytes: Array[Byte] =
    if (lines.isEmpty && origin.isEmpty && params.isEmpty) Array.emptyByteArray
    else {
      val front = PageFront.mapper.createObjectNode()
      lines.foreach(front.put("lines", _))
      origin.foreach { from =>
        front.put("url", from.url).put("status", from.status).put("fetchedAt", from.fetchedAt)
        from.headers.foreach(PageFront.put(front, "headers", _))
      }
      if (params.nonEmpty) PageFront.put(front, "params", params)
      PageFront.mapper.writeValueAsBytes(front)
    }
}

private[rest] object PageFront {
  private val Nothing = PageFront(None, None)
  private val mapper = new ObjectMapper(Json.factory)

  /** Reads the header and blanks it out in the page. */
  def extract(page: Body): PageFront =
    if (page.bytes(0) != '{') Nothing
    else
      Using.resource(Json.factory.createParser(page.bytes, 0, page.length)) { json =>
        val front = read(mapper.readTree[JsonNode](json))
        page.blank(json.currentLocation.getByteOffset.toInt)
        front
      }

  private def put(front: ObjectNode, name: String, texts: Map[String, String]): Unit = {
    val fields = front.putObject(name)
    texts.foreach { case (key, value) => fields.put(key, value) }
  }

  private def read(front: JsonNode): PageFront = {
    def text(name: String) = Option(front.get(name)).map(_.asText)
    def texts(name: String) =
      Option(front.get(name)).map(_.properties.asScala.map(one => one.getKey -> one.getValue.asText).toMap)
    PageFront(
      text("lines"),
      text("url").map(ResponseOrigin(_, front.path("status").asInt, front.path("fetchedAt").asLong, texts("headers"))),
      texts("params").getOrElse(Map.empty))
  }
}
