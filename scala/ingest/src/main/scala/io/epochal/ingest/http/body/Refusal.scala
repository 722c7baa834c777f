package io.epochal.ingest.http.body

import java.io.ByteArrayOutputStream

import scala.util.Using
import scala.util.control.NoStackTrace

import com.fasterxml.jackson.core.JsonGenerator

import io.epochal.kit.json.Json

/** The error response of a refused request. No record of the request is stored.
  *
  * @param status
  *   HTTP status
  * @param reason
  *   stable code, for metrics
  * @param error
  *   message in the response: no secrets, nothing about the driver
  * @param record
  *   index of the malformed record, counted from 0
  * @param position
  *   index of the offending byte, counted from 0 in the decompressed body
  * @param retryAfterSeconds
  *   set if the same request may succeed later
  * @param headers
  *   additional response headers
  */
final private[ingest] case class Refusal(
    status: Int,
    reason: String,
    error: String,
    record: Option[Int] = None,
    position: Option[Int] = None,
    retryAfterSeconds: Option[Int] = None,
    headers: Seq[(String, String)] = Nil) {

  /** Body of the response. */
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

  /** The memory for bodies is exhausted. */
  def busy: Refusal = Refusal(503, "busy", "too many requests at once", retryAfterSeconds = Some(1))
}

/** Thrown to refuse a request. */
final private[http] class Refused(val refusal: Refusal) extends Exception(refusal.error) with NoStackTrace

private[http] object JsonObject {

  /** UTF-8 text of an object; `members` writes its members. */
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
