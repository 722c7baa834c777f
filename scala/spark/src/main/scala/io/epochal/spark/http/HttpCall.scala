package io.epochal.spark.http

import org.apache.hc.core5.http.HttpResponse

/** One request to an endpoint.
  *
  * @param target
  *   path and query (RFC 9112, origin form), already encoded
  * @param headers
  *   those that only this request has
  */
final case class HttpCall(
    method: String,
    target: String,
    headers: Seq[(String, String)] = Nil,
    body: Option[HttpBody] = None
)

/** @param contentType
  *   as in the header Content-Type
  */
final class HttpBody(val contentType: String, val bytes: Array[Byte])

/** An answer of success, or one with a status that is ignored, but for its body. */
final private[spark] class HttpAnswer(response: HttpResponse) {
  def status: Int = response.getCode

  /** The first header of that name, in any case. */
  def header(name: String): Option[String] = Option(response.getFirstHeader(name)).map(_.getValue)
}
