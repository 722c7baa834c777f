package io.epochal.rest.source

/** How to prove that a list ends before a page that the server refuses: the page of `token` has so many records then.
  *
  * @param before
  *   the token of the page before the refused one, and the size of pages: a shorter one is a proof, too; None: it is none
  */
final private[rest] case class EndCheck(
    pagination: ChainedPagination,
    token: Option[String],
    records: Long,
    before: Option[(Option[String], Long)])
