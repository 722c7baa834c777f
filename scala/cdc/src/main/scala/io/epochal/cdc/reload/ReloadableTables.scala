package io.epochal.cdc.reload

/** The tables of a query, by their OIDs. */
private[cdc] trait ReloadableTables {

  /** Those that a request names, as far as this run can reload them. */
  def matching(request: String): Seq[Long]

  /** Whether this run delivers a table. */
  def captures(table: Long): Boolean
}
