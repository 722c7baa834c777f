package io.epochal.rest.source

/** How records are requested, one page at a time: a [[Pagination]] counts them and can request any page again; a
  * [[ChainedPagination]] learns from each page how to request the next one.
  */
trait Paging extends Serializable {

  /** The value of the option `pagination`. */
  def kind: String

  /** Whether pages are selected by the number of a record. */
  def isCounted: Boolean = false

  /** Whether pages are named by their address. */
  def isByAddress: Boolean = false

  /** The parameters that select a page. */
  def parameters: Seq[String] = Nil

  /** The parameter that selects a counted page. */
  def position: String = parameters.headOption.getOrElse("")

  /** The placeholders that the body of a request has, if it has any. */
  def placeholders: Seq[String] = Nil

  /** Those that it may have as well. */
  def otherPlaceholders: Seq[String] = Nil
}
