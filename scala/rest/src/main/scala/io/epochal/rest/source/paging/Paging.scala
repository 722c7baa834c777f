package io.epochal.rest.source.paging

/** How an API is asked for its records, a page at a time: a [[Pagination]] counts them and can ask for any page again; a
  * [[ChainedPagination]] learns from each page how the next one is asked for.
  */
trait Paging extends Serializable {

  /** As in the option `pagination`. */
  def kind: String
}
