package io.epochal.jdbc.commit

import java.sql.Connection
import java.util.Locale

import org.apache.spark.sql.types.StructType

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.LedgerRow
import io.epochal.jdbc.database.{BulkRun, Database, Trust}
import io.epochal.kit.sink.{Claimed, LedgerState, Run}

/** Claims a sink in its ledger, for one run, and finds or makes its table (K5). */
final private[jdbc] class LedgerClaim(
    database: Database,
    schema: StructType,
    run: Run,
    decide: LedgerState => Either[EpochalException, LedgerRow]) {

  private val dialect = database.dialect

  def claim(): Claimed = {
    makeReady()
    var watch = Option.empty[ClaimWatch]
    val (row, claimed) =
      try
        database.transaction("the claim of the ledger") { transaction =>
          val connection = transaction.connection
          val there = dialect.find(connection, database.options.table)
          val name = there.fold(dialect.newName(connection, database.options.table))(_.name)
          val ledger = new LedgerTable(dialect, Trust(name, database.options.trustedOwners), database.place)
          val watching = new ClaimWatch(database, ledger, name.schema, run, decide)
          watch = Some(watching)
          val claimed = watching.over(connection)(claim(connection, ledger, made = there.isEmpty))
          transaction.commit()
          claimed
        }
      catch {
        case error: EpochalException if error.condition == Conditions.DatabaseError =>
          throw watch
            .flatMap(_.refusal)
            .orElse(watch.filter(_.blockers.nonEmpty).map(blocked(_, error)))
            .getOrElse(error)
      }
    dialect.bulk
      .filter(bulk => bulk.outlastsItsRun || database.bulk.contains(bulk))
      .foreach(_.settle(database, claimed))
    Claimed(row, new JdbcTarget(database, claimed))
  }

  /** Locks the sink's own row first, and those of its progress, and binds the table: all can take as long as somebody else's
    * transaction. Only then it takes the lock that other sinks' claims need too, and waits for nothing while it holds it (K15).
    */
  private def claim(connection: Connection, ledger: LedgerTable, made: Boolean): (LedgerRow, BulkRun) = {
    val mine = if (ledger.exists(connection)) ledger.lock(connection, run.sinkId) else None
    val progress = Option.when(dialect.flushes)(ledger.progress).filter(_.exists(connection))
    progress.filter(_ => mine.isDefined).foreach(_.lock(connection, run.sinkId))
    val bound = TargetTables.prepare(database, schema, connection, make = !dialect.ddlCommits) {
      if (!dialect.ledger.serializeClaims(connection)) {
        ledger.create(connection)
        ledger.createLock(connection)
        ledger.takeLock(connection)
      }
    }
    ledger.create(connection)
    if (mine.isEmpty && ledger.owner(connection, run.sinkId).isDefined) throw TargetTables.overtaken
    // Where making the table has committed the transaction, the lock on the row is gone.
    val before = if (made && mine.isDefined) ledger.lock(connection, run.sinkId) else mine
    val target = bound.table.target
    val found = LedgerState(
      target,
      dialect.server(connection),
      before,
      ledger.known(connection, run.sinkId, run.queryId),
      ledger.others(connection, run.sinkId, target))
    val row = decide(found).fold(throw _, identity)
    ledger.claim(connection, before, row)
    progress.foreach { known =>
      if (before.isEmpty) known.forget(connection, row.sinkId)
      else {
        if (before.exists(last => last.target.isAnotherTable(target))) known.rewind(connection, row.sinkId)
        known.claim(connection, row.sinkId, row.generation, row.runId)
      }
    }
    val claimed = BulkRun(row.sinkId, row.generation, row.runId, bound, bound.shape, once = false)
    database.bulk.foreach(_.claim(connection, claimed))
    if (before.isEmpty) dialect.bulk.foreach(_.forget(connection, claimed))
    (row, claimed)
  }

  private def blocked(watch: ClaimWatch, error: EpochalException): EpochalException =
    Conditions.SinkBlocked.because(error)(
      "sinkId" -> run.sinkId,
      "url" -> database.place,
      "waited" -> database.options.lockTimeout.toString.stripPrefix("PT").toLowerCase(Locale.ROOT),
      "blockers" -> watch.blockers.map(_.description).mkString("; "))

  /** Makes what is missing in a transaction of its own, where a claim's would be committed by that. */
  private def makeReady(): Unit =
    if (dialect.ddlCommits) database.transaction("making the tables ready") { transaction =>
      val bound = TargetTables.prepare(database, schema, transaction.connection)(())
      val ledger = new LedgerTable(dialect, bound.trust, database.place)
      ledger.create(transaction.connection)
      ledger.createLock(transaction.connection)
      transaction.commit()
    }
}
