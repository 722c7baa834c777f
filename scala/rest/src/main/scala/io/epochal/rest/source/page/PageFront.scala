package io.epochal.rest.source.page

import java.io.ByteArrayOutputStream

import scala.util.Using

import com.fasterxml.jackson.core.{JsonParser, JsonToken}

import io.epochal.kit.json.Json
import io.epochal.kit.record.Body
import io.epochal.rest.source.paging.ResponseOrigin

/** What stands before a page in a journal: an object of JSON.
  *
  * @param lines
  *   what the page is split by; None for an array of JSON
  * @param origin
  *   where it came from, if a column told that
  */
final private[rest] case class PageFront(lines: Option[String], origin: Option[ResponseOrigin]) {

  /** Nothing, where nothing is to be said. */
  def bytes: Array[Byte] =
    if (lines.isEmpty && origin.isEmpty) Array.emptyByteArray
    else {
      val text = new ByteArrayOutputStream
      Using.resource(Json.factory.createGenerator(text)) { json =>
        json.writeStartObject()
        lines.foreach(json.writeStringField("lines", _))
        origin.foreach { from =>
          json.writeStringField("url", from.url)
          json.writeNumberField("status", from.status)
          json.writeNumberField("fetchedAt", from.fetchedAt)
          from.headers.foreach { headers =>
            json.writeObjectFieldStart("headers")
            headers.foreach { case (name, value) => json.writeStringField(name, value) }
            json.writeEndObject()
          }
        }
        json.writeEndObject()
      }
      text.toByteArray
    }
}

private[rest] object PageFront {
  private val Nothing = PageFront(None, None)

  /** Takes it away from the page. */
  def take(page: Body): PageFront =
    if (page.bytes(0) != '{') Nothing
    else
      Using.resource(Json.factory.createParser(page.bytes, 0, page.length)) { json =>
        val front = read(json)
        page.blank(json.currentLocation.getByteOffset.toInt)
        front
      }

  private def read(json: JsonParser): PageFront = {
    var lines = Option.empty[String]
    var url = Option.empty[String]
    var status = 0
    var fetchedAt = 0L
    var headers = Option.empty[Map[String, String]]
    json.nextToken()
    while (json.nextToken() != JsonToken.END_OBJECT) {
      val name = json.currentName
      json.nextToken()
      name match {
        case "lines"     => lines = Some(json.getText)
        case "url"       => url = Some(json.getText)
        case "status"    => status = json.getIntValue
        case "fetchedAt" => fetchedAt = json.getLongValue
        case "headers"   => headers = Some(texts(json))
        case _           => json.skipChildren()
      }
    }
    PageFront(lines, url.map(ResponseOrigin(_, status, fetchedAt, headers)))
  }

  private def texts(json: JsonParser): Map[String, String] =
    Iterator
      .continually(json.nextToken())
      .takeWhile(_ != JsonToken.END_OBJECT)
      .map(_ => json.currentName -> json.nextTextValue())
      .toMap
}
