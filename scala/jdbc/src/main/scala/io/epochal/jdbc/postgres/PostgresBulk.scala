package io.epochal.jdbc.postgres

import java.sql.Connection

import io.epochal.core.error.EpochalException
import io.epochal.jdbc.commit.LedgerTable
import io.epochal.jdbc.database.{BulkLoad, BulkRun}

/** What PostgreSQL's ways to load have in common. */
private[postgres] trait PostgresBulk extends BulkLoad {

  /** A batch write has no row in the ledger, and no successor. */
  final override def fenced(connection: Connection, run: BulkRun): Option[EpochalException] =
    if (run.once) None else SearchPath.pinned(connection)(PostgresBulk.ledger(run).fenced(connection, run))
}

private[postgres] object PostgresBulk {

  /** Beside the target of a run. */
  def ledger(run: BulkRun): LedgerTable = new LedgerTable(PostgresDialect, run.table.trust, "")
}
