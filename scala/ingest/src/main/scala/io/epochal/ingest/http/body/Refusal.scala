package io.epochal.ingest.http.body

import java.io.ByteArrayOutputStream

import scala.util.Using
import scala.util.control.NoStackTrace

import com.fasterxml.jackson.core.JsonGenerator

import io.epochal.kit.json.Json

/** Why a request is refused. Nothing of it is kept.
  *
  * @param status
  *   of the response
  * @param reason
  *   a stable word, for metrics
  * @param error
  *   the message in the response: no secret, and nothing about the driver
  * @param record
  *   the record at fault, counted from 0
  * @param position
  *   the byte at fault, counted from 0 in the body after decompression
  * @param retryAfterSeconds
  *   set if the same request may be accepted later
  * @param headers
  *   further ones of the response
  */
final private[ingest] case class Refusal(
    status: Int,
    reason: String,
    error: String,
    record: Option[Int] = None,
    position: Option[Int] = None,
    retryAfterSeconds: Option[Int] = None,
    headers: Seq[(String, String)] = Nil) {

  /** The response's body. */
  def json: Array[Byte] = JsonObject.of { out =>
    out.writeStringField("error", error)
    record.foreach(out.writeNumberField("record", _))
    position.foreach(out.writeNumberField("position", _))
  }
}

private[ingest] object Refusal {

  val Malformed = "malformed"
  val Full = "full"

  def malformed(error: String, record: Option[Int], position: Option[Int]): Refusal =
    Refusal(400, Malformed, error, record, position)

  def tooLarge(error: String, record: Option[Int] = None, position: Option[Int] = None): Refusal =
    Refusal(413, "too_large", error, record, position)

  /** The listener has no memory for another body. */
  def busy: Refusal = Refusal(503, "busy", "too many requests at once", retryAfterSeconds = Some(1))
}

/** Ends a request by a refusal. */
final private[http] class Refused(val refusal: Refusal) extends Exception(refusal.error) with NoStackTrace

private[http] object JsonObject {

  /** The UTF-8 text of an object whose members are written by `members`. */
  def of(members: JsonGenerator => Unit): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    Using.resource(Json.factory.createGenerator(bytes)) { out =>
      out.writeStartObject()
      members(out)
      out.writeEndObject()
    }
    bytes.toByteArray
  }
}
