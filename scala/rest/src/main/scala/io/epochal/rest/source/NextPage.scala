package io.epochal.rest.source

/** A page of a [[ChainedPagination]] that is to be requested.
  *
  * @param token
  *   None for the first page
  * @param deliveredCount
  *   number of records already taken from its front: it was the last page then, and may have grown
  */
final case class NextPage(token: Option[String], deliveredCount: Long)

object NextPage {
  val First: NextPage = NextPage(None, 0)
}
