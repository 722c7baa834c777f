package io.epochal.rest.source.page

import io.epochal.kit.record.RecordBlock
import io.epochal.rest.source.paging.NextPage

/** Pages one after the other, each asked for once it is known how. One thread at a time. */
private[rest] trait Chain {

  /** The last one. Who is done with it closes it. */
  def page: Page

  /** The page that is asked for next: where the end was reached, the last one again. */
  def next: NextPage

  /** Whether no page follows the last one, for now. */
  def atEnd: Boolean

  /** Whether what a poll can ask for ends by itself, however many pages are empty. */
  def bounded: Boolean

  /** Begins a poll.
    *
    * @param again
    *   it goes on with the one before: their pages count together against `maxPages`
    * @return
    *   false: there is nothing to ask for
    */
  def beginPoll(again: Boolean = false): Boolean

  /** Asks for the next page.
    *
    * @param each
    *   gets its records that were not taken before, in one or several blocks
    * @return
    *   how many those are
    * @throws EpochalException
    *   TOO_MANY_PAGES, PAGINATION_LOOP, PAGINATION_MISMATCH, LINK_REFUSED, or one of the HTTP conditions; the chain stands where
    *   it stood then
    */
  def nextPage(each: RecordBlock => Unit): Int
}
