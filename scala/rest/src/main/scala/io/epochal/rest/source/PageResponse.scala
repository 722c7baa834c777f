package io.epochal.rest.source

import io.epochal.kit.record.ScannedPage
import io.epochal.rest.http.{Endpoint, ResponseHead}

/** The response to the request for a page that names the next one.
  *
  * @param endpoint
  *   the endpoint, with the parameters that all pages of the list have
  * @param token
  *   the token of this page
  * @param absentEnds
  *   whether a response without a next token is the last one: an earlier page of this list had one, or `endOfList` is
  *   `assumed`
  * @param emptyEnds
  *   whether a page without records is the last one, even if it names a next one
  * @param repeatEnds
  *   whether this page is the last one if it names itself as the next one
  */
final private[rest] case class PageResponse(
    endpoint: Endpoint,
    token: Option[String],
    answer: PageAnswer,
    absentEnds: Boolean,
    emptyEnds: Boolean,
    repeatEnds: Boolean) {
  def head: ResponseHead = answer.head
  def scanResult: ScannedPage = answer.scanResult
}
