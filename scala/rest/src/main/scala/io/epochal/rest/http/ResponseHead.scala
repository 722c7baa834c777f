package io.epochal.rest.http

import org.apache.hc.core5.http.HttpResponse

/** Status and headers of a successful or ignored response.
  *
  * @param notModified
  *   whether the server replied 304 Not Modified
  * @param delimited
  *   whether the body's end is marked by a length, chunks or gzip; otherwise the connection's end marks it, and the
  *   body may be truncated
  * @param refusal
  *   the response, if it is a refusal
  * @param blank
  *   whether the body is blank, and that means no records; a single such response is not believed
  * @param redirectTarget
  *   the target of a redirect that is followed
  */
final private[epochal] class ResponseHead(
    response: HttpResponse,
    val notModified: Boolean = false,
    val delimited: Boolean = true,
    val refusal: Option[Refusal] = None,
    val blank: Boolean = false,
    val redirectTarget: Option[String] = None) {
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
