package io.epochal.cdc

/** Which columns a query's rows have.
  *
  * @param name
  *   the value of the option `rows`
  * @param isSeveral
  *   whether they can be those of several tables
  */
sealed abstract private[cdc] class RowShape(val name: String, val isSeveral: Boolean)

private[cdc] object RowShape {

  /** The columns of the table; for one table only. */
  case object OfTable extends RowShape("", isSeveral = false)

  /** JSON before and after a change. */
  case object Json extends RowShape("json", isSeveral = true)

  /** A STRUCT column for each table. */
  case object Typed extends RowShape("typed", isSeveral = true)
}
