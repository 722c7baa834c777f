package io.epochal.jdbc.database

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.LedgerRow

/** A run, as identified by what its tasks leave in the database.
  *
  * @param runId
  *   after a ledger was set back the same generation can be issued again, but not the same run id
  * @param shape
  *   the table's column types when the columns were bound
  * @param once
  *   a batch write: it has no successor under this sink id
  */
final case class BulkRun(
    sinkId: String,
    generation: Long,
    runId: String,
    table: BoundTable,
    shape: String,
    once: Boolean) {

  /** The mark under which other sessions see its transactions. */
  @transient lazy val writer: Writer = Writer.of(table.table.name.schema, sinkId, generation)

  /** Whether this run is the one that may write, by the sink's row in the ledger. */
  def isCurrent(row: Option[LedgerRow]): Boolean = row.exists(r => r.generation == generation && r.runId == runId)

  /** The error of this run after another has claimed the sink.
    *
    * @param current
    *   the generation that may write
    */
  def fenced(current: Option[Long]): EpochalException =
    Conditions.SinkFenced("sinkId" -> sinkId, "generation" -> generation, "current" -> current.fold("none")(_.toString))
}
