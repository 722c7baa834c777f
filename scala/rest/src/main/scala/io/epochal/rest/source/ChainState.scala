package io.epochal.rest.source

import java.time.Instant

import io.epochal.rest.http.Validator

/** How far the pages of a list were followed.
  *
  * @param next
  *   the page to request; at the end, the last page again
  * @param atEnd
  *   whether the last page has named no next one
  * @param validator
  *   of the last page, if that ended the list
  * @param conditionalPolls
  *   consecutive conditional requests, if a header names the next page
  * @param pages
  *   those that `maxPages` limits
  * @param emptyPages
  *   consecutive pages without records, of this poll
  * @param records
  *   number of records of the page before
  * @param content
  *   digest of the latest records, if pages are compared
  * @param latest
  *   time windows that end later are not requested
  * @param provenSize
  *   the largest number of records of a page that is not limited by the server
  */
final private[rest] case class ChainState(
    next: NextPage = NextPage.First,
    atEnd: Boolean = false,
    validator: Option[Validator] = None,
    conditionalPolls: Int = 0,
    pages: Int = 0,
    emptyPages: Int = 0,
    loopGuard: LoopGuard = LoopGuard(),
    records: Option[Int] = None,
    content: Option[Long] = None,
    latest: Instant = Instant.MIN,
    provenSize: Long = 0) {

  def restartCount: ChainState = copy(pages = 0, emptyPages = 0)
}
