package io.epochal.spark.source.rest.page

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.time.Instant
import java.util.Arrays
import java.util.concurrent.TimeUnit.{NANOSECONDS, SECONDS}

import scala.util.Using

import com.fasterxml.jackson.core.JsonToken

import io.epochal.spark.http.{BodyBuffer, HttpAnswer}
import io.epochal.spark.json.Json
import io.epochal.spark.source.rest.RestOptions
import io.epochal.spark.source.rest.record.AnswerColumn

/** One answer, as it came. Used again for the next one. */
final private[rest] class Answer(val body: BodyBuffer = BodyBuffer.ofPage()) extends AutoCloseable {
  private var origin = Option.empty[AnswerOrigin]

  /** Where it came from; None: nobody has said that. */
  def from: Option[AnswerOrigin] = origin

  /** @param url
    *   without anything that may be secret
    */
  def came(head: HttpAnswer, url: => String, options: RestOptions): Unit =
    origin = Option.when(options.rules.tellsOrigin) {
      val now = Instant.now()
      AnswerOrigin(
        url,
        head.status,
        SECONDS.toMicros(now.getEpochSecond) + NANOSECONDS.toMicros(now.getNano.toLong),
        if (options.rules.answer.contains(AnswerColumn.Headers)) AnswerHeaders.of(head, options.http) else Map.empty
      )
    }

  def cameFrom(origin: Option[AnswerOrigin]): Unit = this.origin = origin

  /** It can be used again. */
  override def close(): Unit = body.close()
}

/** Where an answer came from.
  *
  * @param url
  *   without anything that may be secret
  * @param fetchedAt
  *   when it came: microseconds since 1970
  * @param headers
  *   only where a column wants them
  */
final private[rest] case class AnswerOrigin(url: String, status: Int, fetchedAt: Long, headers: Map[String, String]) {

  /** As a journal has it before a page: an object of JSON. */
  def bytes: Array[Byte] = {
    val text = new ByteArrayOutputStream
    Using.resource(Json.factory.createGenerator(text)) { json =>
      json.writeStartObject()
      json.writeStringField("url", url)
      json.writeNumberField("status", status)
      json.writeNumberField("fetchedAt", fetchedAt)
      json.writeObjectFieldStart("headers")
      headers.foreach { case (name, value) => json.writeStringField(name, value) }
      json.writeEndObject()
      json.writeEndObject()
    }
    text.toByteArray
  }
}

private[rest] object AnswerOrigin {

  /** What a journal has before a page of which nothing is known. */
  val Unknown: Array[Byte] = "{}".getBytes(UTF_8)

  /** Takes away what stands before a page in a journal: line breaks are left there, which no format minds. */
  def take(page: BodyBuffer): Option[AnswerOrigin] =
    if (page.bytes(0) != '{') None
    else
      Using.resource(Json.factory.createParser(page.bytes, 0, page.length)) { json =>
        var url = Option.empty[String]
        var status = 0
        var fetchedAt = 0L
        val headers = Map.newBuilder[String, String]
        json.nextToken()
        while (json.nextToken() != JsonToken.END_OBJECT) {
          val name = json.currentName
          json.nextToken()
          name match {
            case "url"       => url = Some(json.getText)
            case "status"    => status = json.getIntValue
            case "fetchedAt" => fetchedAt = json.getLongValue
            case "headers" =>
              while (json.nextToken() != JsonToken.END_OBJECT) headers += json.currentName -> json.nextTextValue()
            case _ => json.skipChildren()
          }
        }
        Arrays.fill(page.bytes, 0, json.currentLocation.getByteOffset.toInt, '\n'.toByte)
        url.map(AnswerOrigin(_, status, fetchedAt, headers.result()))
      }
}
