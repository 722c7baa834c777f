package io.epochal.ingest.http.body

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NoStackTrace

import com.fasterxml.jackson.databind.node.JsonNodeFactory

/** The error response to a rejected request, thrown to reject it. No record of the request is stored.
  *
  * @param status
  *   HTTP status
  * @param reason
  *   stable code, for metrics and the log
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
final private[ingest] case class Problem(
    status: Int,
    reason: String,
    error: String,
    record: Option[Int] = None,
    position: Option[Int] = None,
    retryAfterSeconds: Option[Int] = None,
    headers: Seq[(String, String)] = Nil)
    extends Exception(error)
    with NoStackTrace {

  /** Body of the response. */
  def json: Array[Byte] = {
    val fields = JsonNodeFactory.instance.objectNode().put("error", error)
    record.foreach(fields.put("record", _))
    position.foreach(fields.put("position", _))
    fields.toString.getBytes(UTF_8)
  }
}

private[ingest] object Problem {

  val Malformed = "malformed"
  val Full = "full"

  def malformed(error: String, record: Option[Int], position: Option[Int]): Problem =
    Problem(400, Malformed, error, record, position)

  def tooLarge(error: String, record: Option[Int] = None, position: Option[Int] = None): Problem =
    Problem(413, "too_large", error, record, position)

  /** The memory for bodies is exhausted. */
  def busy: Problem = Problem(503, "busy", "too many requests at once", retryAfterSeconds = Some(1))
}
