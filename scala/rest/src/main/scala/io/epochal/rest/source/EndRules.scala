package io.epochal.rest.source

/** How a list shows its end, and how far it is followed without that.
  *
  * @param end
  *   the option `endOfList`
  * @param emptyPages
  *   the option of that name
  * @param maxPages
  *   maximum pages per poll, if pages name the next one
  */
final private[rest] case class EndRules(end: String, emptyPages: Option[String], maxPages: Int) {

  /** Whether a list may end without stating so. */
  def assumed: Boolean = end == "assumed"

  /** Whether a page that names itself as the next one is the last. */
  def repeated: Boolean = end == "repeated"

  /** Whether a page without records is the last, even if it names a next one. */
  def empty: Boolean = emptyPages.contains("end")

  /** Maximum pages without records in a row that are skipped where no later poll continues after them. */
  def maxEmptyPages: Int = if (emptyPages.contains("skip")) Int.MaxValue else PagingOptions.MaxEmptyPages
}
