package io.epochal.cdc.change

/** The effect of changed columns on a query. */
sealed abstract private[cdc] class OnSchemaChange(val name: String)

private[cdc] object OnSchemaChange {
  case object Fail extends OnSchemaChange("fail")

  /** A start takes columns that were added before it. */
  case object Adopt extends OnSchemaChange("adopt")

  /** A start takes the columns as they are, and reloads tables with values that the log does not have. */
  case object Follow extends OnSchemaChange("follow")
  val all: Seq[OnSchemaChange] = Seq(Fail, Adopt, Follow)
}
