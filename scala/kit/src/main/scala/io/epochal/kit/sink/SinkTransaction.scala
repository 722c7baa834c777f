package io.epochal.kit.sink

import io.epochal.core.ledger._
import io.epochal.kit.sink.transport.Shipment

/** An open transaction. Each read sees what others committed before it. */
trait SinkTransaction {

  def doubt: CommitDoubt

  def server: ServerIdentity

  /** Whether the transaction in doubt was committed, once it has ended; None: the system does not record it. Throws a transient
    * error while it is in progress.
    */
  def isCommitted: Option[Boolean] = None

  /** The sink's row, locked until the transaction ends; None: the ledger has lost it. */
  def ledgerRow(): Option[LedgerRow]

  /** For messages: the run that committed the last epoch of the ledger's row. */
  def lastRun: Option[String] = None

  /** Writes an epoch's rows into the target, its dead letters into their table, and its ledger row. Fails if some of them are
    * missing, or if they were encoded for another target.
    *
    * @param whole
    *   the rows replace all rows of the target
    * @param next
    *   names the epoch in `last`
    */
  def apply(shipment: Shipment, whole: Boolean, next: LedgerRow): Unit

  /** Assigns the sink's ledger row to another query and to the current target, and keeps the previous query's row in case that
    * query returns. `apply` follows.
    */
  def takeOver(before: LedgerRow, next: LedgerRow): Unit

  /** Writes the ledger row of an epoch whose rows are in the target. */
  def adopt(next: LedgerRow): Unit

  /** `apply` for a batch, which the ledger does not record. */
  def applyBatch(shipment: Shipment, whole: Boolean): Unit

  /** The ledger's progress of rows stored in the middle of epochs; None: not supported. */
  def progress: Option[SinkProgress] = None

  /** Commits. Nothing may follow. */
  def commit(): Unit
}
