package io.epochal.jdbc.database

/** How rows go into the table; names are spelled as in the table. */
sealed trait WriteMode

object WriteMode {
  case object Append extends WriteMode

  /** @param keys
    *   in the order of the table's columns, so that all sinks process a table's rows in one order
    * @param loose
    *   the keys that the database compares less strictly than Spark, each with the reason; empty unless the user accepted that
    * @param order
    *   among rows of the same key the greatest wins; None: keys must be unique within an epoch
    * @param updated
    *   the columns that a row of the same key updates; never empty
    * @param operation
    *   None: no row deletes
    */
  final case class Upsert(
      keys: Seq[String],
      order: Option[String],
      updated: Seq[String],
      operation: Option[OperationColumn],
      loose: Map[String, String] = Map.empty)
      extends WriteMode
}
