package io.epochal.rest.source

/** How records are requested, one page at a time: a [[Pagination]] counts them and can request any page again; a
  * [[ChainedPagination]] learns from each page how to request the next one.
  */
trait Paging extends Serializable {

  /** The value of the option `pagination`. */
  def kind: String

  /** The same pages, each requested after the one before. */
  def asChain: ChainedPagination

  /** Whether pages are selected by the number of a record. */
  def isCounted: Boolean = false

  /** Whether pages are named by their address. */
  def isByAddress: Boolean = false

  /** The parameters that select a page, that of the position first. */
  def parameters: Seq[String] = Nil

  /** The placeholders that the body of a request has, if it has any. */
  def placeholders: Seq[String] = Nil

  /** The options that select the records, besides the kind. */
  def identity: Option[String] = None
}
