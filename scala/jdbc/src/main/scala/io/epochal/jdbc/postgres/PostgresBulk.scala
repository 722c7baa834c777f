package io.epochal.jdbc.postgres

import java.sql.Connection

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.commit.LedgerTable
import io.epochal.jdbc.database.{BulkLoad, BulkRun}
import io.epochal.kit.sink.transport.TaskAttempt

/** Common parts of PostgreSQL's bulk loads. */
private[postgres] trait PostgresBulk extends BulkLoad {

  /** A batch write has neither a ledger row nor a successor, so it is never fenced. */
  final override def fenced(connection: Connection, run: BulkRun): Option[EpochalException] =
    if (run.once) None else SearchPath.pinned(connection)(PostgresBulk.ledger(run).fenced(connection, run))

  /** The error if fewer rows of an attempt are found than it sent. */
  final protected def lost(attempt: TaskAttempt, place: String, storedRows: Long, sentRows: Long): EpochalException =
    Conditions.StagingLost(
      "partition" -> attempt.partition,
      "epoch" -> attempt.epoch,
      "found" -> storedRows,
      "sent" -> sentRows,
      "place" -> place)
}

private[postgres] object PostgresBulk {

  /** The ledger beside the run's target. */
  def ledger(run: BulkRun): LedgerTable = new LedgerTable(PostgresDialect, run.table.trust, "")
}
