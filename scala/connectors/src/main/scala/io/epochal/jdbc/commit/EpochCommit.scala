package io.epochal.jdbc.commit

import java.sql.Connection

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.{EpochAttempt, EpochDecision, LedgerRow, OnLedgerEmpty}
import io.epochal.jdbc.database.{Database, Failpoint, Failpoints, Shipment, Transaction, TransactionOutcome}
import io.epochal.jdbc.table.AddedColumns

/** What became of an epoch. */
sealed trait EpochOutcome

object EpochOutcome {

  /** Its rows and its ledger row were committed now. */
  final case class Applied(loadNanos: Long, commitNanos: Long) extends EpochOutcome

  /** They had been committed before. */
  final case class Repeated(contentDiffers: Boolean) extends EpochOutcome
}

/** The transaction that commits an epoch's rows together with its ledger row (K1, K3, K5, K7, K13).
  *
  * {{{
  *   begin ── lock the ledger row ── decide ──► AlreadyApplied ── roll back, success
  *                  ▲                  │
  *                  │                  ▼ Apply (Adopt: without the load)
  *                  │               load, compare counts ── write the ledger row ── COMMIT ──► success
  *                  │                                                                 │
  *                  └──────────── a new connection asks what landed ◄── answer lost ──┘
  * }}}
  *
  * What tasks have brought to the database themselves is moved by `load`, or noted with the ledger row and completed after
  * the COMMIT ([[BulkLoad]]).
  *
  * @param truncate
  *   the epoch holds the whole table
  */
final private[jdbc] class EpochCommit(database: Database, claimed: Claimed, truncate: Boolean) {

  private val dialect = database.dialect
  private val options = database.options
  private val ledger = new LedgerTable(dialect, claimed.bound.trust, database.place)
  private val loading = new Loading(database, claimed.run, truncate, Some(claimed.row.sinkId))

  def commit(attempt: EpochAttempt, shipment: Shipment): EpochOutcome = {
    val outcome = transact(attempt, shipment)
    if (shipment.elsewhere.nonEmpty) database.bulk.foreach { bulk =>
      outcome match {
        case EpochOutcome.Applied(_, _) => bulk.complete(database, claimed.run, shipment.elsewhere)
        case EpochOutcome.Repeated(_)   => bulk.settle(database, claimed.run)
      }
    }
    outcome
  }

  private def transact(attempt: EpochAttempt, shipment: Shipment): EpochOutcome =
    new CommitDoubt(database, attempt.epoch.toString, Some(claimed.run.writer))
      .run(s"the commit of epoch ${attempt.epoch}") { (transaction, doubt) =>
        val connection = transaction.connection
        Failpoints.reach(Failpoint.BeforeLedgerLock)
        val row = ledger.lock(connection, claimed.row.sinkId).getOrElse(throw lost(attempt))
        if (doubt.isOpen && landed(attempt, row, connection, doubt))
          if (skips(attempt)) EpochOutcome.Repeated(contentDiffers = false) else EpochOutcome.Applied(0L, 0L)
        else
          EpochDecision
            .decide(attempt, row, options.onLedgerEmpty, options.onEpochMismatch)
            .fold(throw _, identity) match {
            case EpochDecision.AlreadyApplied(contentDiffers) => EpochOutcome.Repeated(contentDiffers)
            case EpochDecision.Adopt(next)                    => adopt(attempt, next, transaction, doubt)
            case EpochDecision.Apply(next)                    => apply(attempt, shipment, next, transaction, doubt)
          }
      }

  private def apply(
      attempt: EpochAttempt,
      shipment: Shipment,
      next: LedgerRow,
      transaction: Transaction,
      doubt: CommitDoubt
  ): EpochOutcome = {
    val start = System.nanoTime()
    loading.load(transaction.connection, shipment, attempt.epoch.toString)
    Failpoints.reach(Failpoint.AfterLoad)
    if (!ledger.record(transaction.connection, next, attempt.applied, claimed.bound, claimed.shape))
      throw loading.targetReplaced
    database.bulk.foreach(_.decide(transaction.connection, claimed.run, attempt.epoch, shipment.elsewhere))
    Failpoints.reach(Failpoint.LedgerWritten)
    val loaded = System.nanoTime()
    doubt.commit(transaction)
    EpochOutcome.Applied(loaded - start, System.nanoTime() - loaded)
  }

  private def skips(attempt: EpochAttempt): Boolean = options.onLedgerEmpty == OnLedgerEmpty.Skip(attempt.epoch)

  /** Tells the ledger that the epoch is there. What tasks have brought of it to the database does not count. */
  private def adopt(
      attempt: EpochAttempt,
      next: LedgerRow,
      transaction: Transaction,
      doubt: CommitDoubt): EpochOutcome = {
    AddedColumns.add(transaction.connection, dialect, options.table, claimed.bound)
    if (!ledger.record(transaction.connection, next, attempt.applied, claimed.bound, claimed.shape))
      throw loading.targetReplaced
    Failpoints.reach(Failpoint.LedgerWritten)
    doubt.commit(transaction)
    EpochOutcome.Repeated(contentDiffers = false)
  }

  /** The ledger row is locked, so the transaction whose answer was lost has ended. */
  private def landed(attempt: EpochAttempt, row: LedgerRow, connection: Connection, doubt: CommitDoubt): Boolean = {
    val found = EpochDecision.landed(attempt, row).fold(throw _, identity)
    if (!found) {
      if (doubt.outcome(connection).contains(TransactionOutcome.Committed))
        throw doubt.unknown("the server has committed it, but the ledger does not show it", null)
      doubt.settle()
    }
    found
  }

  private def lost(attempt: EpochAttempt): EpochalException =
    Conditions.LedgerEmpty("epoch" -> attempt.epoch, "sinkId" -> claimed.row.sinkId)
}
