package io.epochal.rest.http

/** One request to an endpoint.
  *
  * @param target
  *   path and query (RFC 9112, origin form), already encoded
  * @param headers
  *   those of this request only
  * @param unless
  *   validator of a known response: the server replies 304 if it has not changed
  * @param endAfter
  *   number of responses 400, 404 or 416 after which the response counts as one without records, with a [[Refusal]]: the
  *   requested page may be past the end of the list; 0: they are failures
  * @param successStatuses
  *   statuses that count as an empty response to this request
  * @param repeatable
  *   whether the server may process it twice: over a kept connection that the server had closed it is repeated at once
  */
final case class HttpCall(
    method: String,
    target: String,
    headers: Seq[(String, String)] = Nil,
    body: Option[HttpBody] = None,
    unless: Option[Validator] = None,
    endAfter: Int = 0,
    successStatuses: Set[Int] = Set.empty,
    repeatable: Boolean = true
)
