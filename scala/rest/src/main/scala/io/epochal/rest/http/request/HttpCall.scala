package io.epochal.rest.http.request

import org.apache.hc.core5.http.HttpResponse

/** One request to an endpoint.
  *
  * @param target
  *   path and query (RFC 9112, origin form), already encoded
  * @param headers
  *   those of this request only
  * @param unless
  *   validator of a known response: the server replies 304 if it has not changed
  * @param endAfter
  *   number of responses 400, 404 or 416 after which the requested page counts as past the end of the list, which is no
  *   failure; 0: they are failures
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

/** Status and headers of a successful or ignored response.
  *
  * @param notModified
  *   whether the server replied 304 Not Modified
  * @param delimited
  *   whether the body's end is marked by a length, chunks or gzip; otherwise the connection's end marks it, and the
  *   body may be truncated
  */
final private[epochal] class ResponseHead(
    response: HttpResponse,
    val notModified: Boolean = false,
    val delimited: Boolean = true) {
  def status: Int = response.getCode

  /** The validator for a later conditional request. */
  def validator: Option[Validator] = if (status == 200) Validator.of(header) else None

  /** The first header of that name, case-insensitive. */
  def header(name: String): Option[String] = Option(response.getFirstHeader(name)).map(_.getValue)

  /** All headers, in the order received. */
  def all: Seq[(String, String)] = response.getHeaders.toSeq.map(header => header.getName -> header.getValue)

  /** All headers of that name, case-insensitive. */
  def headers(name: String): Seq[String] = response.getHeaders(name).toSeq.map(_.getValue)
}
