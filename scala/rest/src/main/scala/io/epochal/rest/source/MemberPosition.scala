package io.epochal.rest.source

import io.epochal.rest.http.Validator

/** How far the list of a [[MemberTable.Member]] is delivered, and where it is read next.
  *
  * @param records
  *   so many of its records are in the stream, or were
  * @param next
  *   the page to request
  * @param unless
  *   the validator of that page, if it ended the list
  * @param lastReceipt
  *   when records were received last, in milliseconds since 1970; 0: never
  * @param isResumed
  *   whether an earlier run began its pass
  * @param conditionalPolls
  *   consecutive conditional polls, if a header names the next page
  * @param pages
  *   number of pages since the end of the list
  * @param mark
  *   hash of one of them
  */
final private[rest] case class MemberPosition(
    records: Long,
    next: NextPage,
    unless: Option[Validator],
    lastReceipt: Long,
    isResumed: Boolean = false,
    conditionalPolls: Int = 0,
    pages: Int = 0,
    mark: Long = 0) {

  def state: ChainState =
    ChainState(
      next,
      unless.nonEmpty,
      unless,
      conditionalPolls,
      pages,
      loopGuard = if (pages == 0) LoopGuard() else LoopGuard(pages + 1, mark))

  /** The position after a page with so many new records. */
  def after(state: ChainState, atEnd: Boolean, newRecords: Int, now: Long): MemberPosition =
    MemberPosition(
      records + newRecords,
      state.next,
      state.validator,
      if (newRecords > 0) now else lastReceipt,
      isResumed && !atEnd,
      state.conditionalPolls,
      if (state.atEnd) 0 else state.pages,
      state.loopGuard.mark)

  /** The position after the end of a list whose records change: each pass begins with the first page.
    *
    * @param hasChanges
    *   whether the next pass makes another request than this one
    */
  def atEndOfPass(hasChanges: Boolean): MemberPosition =
    copy(next = NextPage.First, unless = unless.filterNot(_ => hasChanges || next.token.nonEmpty))
}

private[rest] object MemberPosition {

  /** That of a list that has never answered. */
  val Start: MemberPosition = MemberPosition(0, NextPage.First, None, 0)
}
