package io.epochal.kit.sink

import scala.annotation.unused

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.{Boundary, LedgerRow, Progress, ProgressCommit, ServerIdentity}
import io.epochal.kit.sink.flush.RowFlush
import io.epochal.kit.sink.row.RowFormat
import io.epochal.kit.sink.transport.{DriverTransport, RowFiles, Shipment, Transport}

/** What a run writes to: found, or made, and bound to the query's columns. */
trait SinkTarget {

  /** For messages. */
  def name: String

  /** The system, for messages. */
  def place: String

  /** How tasks encode rows. */
  def rowFormat: RowFormat

  /** How the rows of an epoch travel.
    *
    * @param limit
    *   bytes that may travel in the messages of all tasks
    * @param files
    *   where tasks may put more; None: there is no such place
    */
  def transport(tasks: Int, limit: Long, files: => Option[RowFiles]): Transport =
    DriverTransport.shared(tasks, limit, files)

  /** Whether tasks can store rows in the middle of an epoch (K12); else only micro-batches can be written. */
  def flushes: Boolean = false

  /** How they do it; asked where they can, before the first task. */
  def flush(@unused queryId: String): RowFlush = throw new UnsupportedOperationException(s"no flushes into $name")

  /** Lets no task of this run store rows in the middle of an epoch any more, and tells them why. It may fail. */
  def failed(@unused reason: String): Unit = ()

  /** For the progress: which transport the rows took, and why. */
  def describe(shipment: Shipment, @unused tasks: Int): Map[String, String] = Map("transport" -> shipment.driverWay)

  /** Runs `body` in a transaction that it commits itself; what it does not commit is rolled back. The whole is run again when
    * its failure is transient.
    *
    * @param step
    *   completes "failed in …"
    */
  def inTransaction[A](step: String)(body: SinkTransaction => A): A

  /** Whether a COMMIT that failed so may have taken effect. */
  def losesConnection(error: Throwable): Boolean

  /** Whether an error says only that the system could not be asked: then nobody knows yet what a lost COMMIT did. */
  def couldNotAsk(error: EpochalException): Boolean

  /** After the COMMIT, or where the epoch was there already: settles what tasks have brought to the system themselves. */
  def committed(@unused shipment: Shipment, @unused outcome: EpochOutcome): Unit = ()

  /** After an epoch failed, while its tasks may still run: removes what they have left in the system. It must not fail: that
    * would hide the reason; what remains is removed by the next claim.
    */
  def abandoned(): Unit = ()
}

/** A transaction that is open. Reads see what others committed before each of them. */
trait SinkTransaction {

  /** By which the system can be asked later what became of it, if it can. */
  def id: Option[String] = None

  def server: ServerIdentity

  /** Whether another transaction was committed, once that is decided; None: the system cannot tell. While it is under way, a
    * transient error.
    */
  def isCommitted(@unused transaction: String): Option[Boolean] = None

  /** The sink's row, locked until the transaction ends; None: the ledger has lost it. */
  def ledgerRow(): Option[LedgerRow]

  /** Brings an epoch's rows into the target and its dead letters to where those are kept, and writes its ledger row. Fails where not
    * all of them are there, or the target is not the one that they were encoded for.
    *
    * @param whole
    *   the rows replace all that the target holds
    * @param next
    *   names the epoch in `last`
    */
  def apply(shipment: Shipment, whole: Boolean, next: LedgerRow): Unit

  /** Makes the sink's ledger row that of another query and of the target that is written, and keeps what the query before had
    * for when it comes back. `apply` follows.
    */
  def takeOver(before: LedgerRow, next: LedgerRow): Unit

  /** Writes the ledger row of an epoch whose rows are there. */
  def adopt(next: LedgerRow): Unit

  /** The same as `apply` for a batch, of which the ledger does not tell. */
  def applyBatch(shipment: Shipment, whole: Boolean): Unit

  /** What tells of rows that are stored in the middle of epochs; None: there are none. */
  def progress: Option[SinkProgress] = None

  /** Nothing may follow. */
  def commit(): Unit
}

/** The part of a ledger that tells of rows stored in the middle of epochs (K12), within a transaction that has locked the
  * sink's row.
  */
trait SinkProgress {

  /** Waits for flushes that are under way, and keeps others out until the transaction ends. */
  def lock(): Unit

  /** Of a query; what another one under this sink id has is kept for it. */
  def read(queryId: String): Progress

  /** Makes the target ready for rows in the middle of an epoch: columns that they bring are added. */
  def prepare(): Unit

  /** Makes a boundary the only one, and begins the counts there. */
  def anchor(queryId: String, boundary: Boundary): Unit

  /** Notes which offsets Spark has logged for a boundary of which that was not known. */
  def note(queryId: String, epoch: Long, offsetsHash: String): Unit

  /** Forgets all of a query: its next epoch ends in micro-batches. */
  def end(queryId: String): Unit

  /** Writes the end of an epoch, and drops those that no restart goes back to. */
  def record(commit: ProgressCommit): Unit
}
