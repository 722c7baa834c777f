package io.epochal.jdbc.commit

import java.sql.Connection

import io.epochal.core.error.Condition
import io.epochal.jdbc.database.TransactionOutcome.Committed
import io.epochal.jdbc.database.{BulkRun, Database, Failpoint, Failpoints, Shipment}
import io.epochal.jdbc.sql.Sql

/** Commits a batch write: all of its rows in one transaction, without the ledger.
  *
  * A batch has no epoch by which it could be known again, so a call that is repeated writes again. Within one call, an
  * answer lost during COMMIT is settled by the transaction's id, on the same server and timeline; where the database does
  * not know it any more, or has none (SQLite), the call fails with COMMIT_UNKNOWN rather than writing twice.
  */
final private[jdbc] class BatchCommit(database: Database, run: BulkRun, truncate: Boolean) {

  private val loading = new Loading(database, run, truncate, None)

  def commit(shipment: Shipment): Unit =
    new CommitDoubt(database, BatchCommit.Epoch, None).run("the batch write") { (transaction, doubt) =>
      val landed = doubt.isOpen && committed(transaction.connection, doubt)
      if (!landed) {
        loading.load(transaction.connection, shipment, BatchCommit.Epoch)
        if (!isUnchanged(transaction.connection)) throw loading.targetReplaced
        Failpoints.reach(Failpoint.AfterLoad)
        doubt.commit(transaction)
      }
    }

  private def committed(connection: Connection, doubt: CommitDoubt): Boolean =
    doubt.outcome(connection) match {
      case None => throw doubt.unknown("it keeps no record of the transaction", null)
      case Some(_) if !doubt.isSameServer(connection) =>
        throw doubt.unknown("another server responds now, or the same one after a fail-over", null)
      case Some(Committed) => true
      case Some(_) =>
        doubt.settle()
        false
    }

  /** Whether the table is still the one, with columns of the types, that the rows were encoded for. The load holds a lock on
    * it: this stays so until the COMMIT.
    */
  private def isUnchanged(connection: Connection): Boolean = {
    val dialect = database.dialect
    val target = run.table.table
    target.target.oid.forall(oid =>
      Sql
        .query(connection, s"SELECT ${dialect.identitySql(target.name)} AS oid")(Sql.long(_, "oid"))
        .head
        .contains(oid)) &&
    Sql.query(connection, s"SELECT ${dialect.shapeSql(run.table)}")(_.getString(1)).head == run.shape
  }
}

private[jdbc] object BatchCommit {

  /** Stands for the epoch in messages. */
  val Epoch: String = Condition.BatchWrite
}
