package io.epochal.rest.http.request

import org.apache.hc.core5.http.HttpResponse

/** One request to an endpoint.
  *
  * @param target
  *   path and query (RFC 9112, origin form), already encoded
  * @param headers
  *   those that only this request has
  * @param unless
  *   validator of a known response: the server replies 304 where it has not changed
  * @param endAfter
  *   how many responses of 400, 404 or 416 mean that the list ends before the requested page, which is no failure then; 0: they
  *   are a failure
  */
final case class HttpCall(
    method: String,
    target: String,
    headers: Seq[(String, String)] = Nil,
    body: Option[HttpBody] = None,
    unless: Option[Validator] = None,
    endAfter: Int = 0
)

/** @param contentType
  *   as in the header Content-Type
  */
final class HttpBody(val contentType: String, val bytes: Array[Byte])

/** A response of success, or one with a status that is ignored, but for its body.
  *
  * @param notModified
  *   whether the server replied 304 Not Modified
  * @param delimited
  *   whether its body says itself where it ends, by a length, chunks or gzip; else the connection's end did, and it may be cut
  */
final private[epochal] class ResponseHead(
    response: HttpResponse,
    val notModified: Boolean = false,
    val delimited: Boolean = true) {
  def status: Int = response.getCode

  /** Its validator. */
  def validator: Option[Validator] = if (status == 200) Validator.of(header) else None

  /** The first header of that name, in any case. */
  def header(name: String): Option[String] = Option(response.getFirstHeader(name)).map(_.getValue)

  /** All headers, as they came. */
  def all: Seq[(String, String)] = response.getHeaders.toSeq.map(header => header.getName -> header.getValue)

  /** All headers of that name, in any case. */
  def headers(name: String): Seq[String] = response.getHeaders(name).toSeq.map(_.getValue)
}
