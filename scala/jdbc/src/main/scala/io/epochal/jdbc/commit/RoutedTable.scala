package io.epochal.jdbc.commit

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.LedgerRow
import io.epochal.jdbc.database.{BoundTable, BulkRun, Database}
import io.epochal.jdbc.routing.QueryTable

/** One of several tables that a run writes. It has a row in the ledger, which shows its identity and its last epoch; the sink's own
  * row decides.
  *
  * @param row
  *   of the ledger, as claimed
  */
final private[jdbc] case class RoutedTable(query: QueryTable, database: Database, bound: BoundTable, row: LedgerRow) {
  val run: BulkRun = BulkRun(row.sinkId, row.generation, row.runId, bound, bound.shape, once = false)
}

private[jdbc] object RoutedTable {

  /** The id of a table's row in the ledger. */
  def sinkId(ofAll: String, table: QueryTable): String = s"$ofAll/${table.id}"

  /** The error for a table that runs since have left out.
    *
    * @param last
    *   the sink's last epoch
    */
  def leftOut(row: LedgerRow, last: Long, table: QueryTable): EpochalException =
    Conditions.EpochGap.withHint(
      s"The query has left ${table.source} out since then. Leave it out again, .where(\"_table <> '${table.source}'\").drop('${table.source}'), or load all tables again: start the query with a new checkpoint and {option:onNewQuery=replace}.")(
      "epoch" -> (last + 1),
      "sinkId" -> row.sinkId,
      "last" -> row.last.fold("none")(_.epoch.toString),
      "missing" -> "all later")
}
