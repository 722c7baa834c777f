package io.epochal.rest.source

/** The new records of a page are delivered, and reading continues from a state.
  *
  * @param records
  *   their number
  * @param missing
  *   number of records delivered earlier that the page no longer has
  */
final private[rest] case class Delivery(state: ChainState, records: Int, missing: Long = 0)
