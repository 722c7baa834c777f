package io.epochal.kit.sink

import scala.annotation.unused

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.{Boundary, LedgerRow, Progress, ProgressCommit, ServerIdentity}
import io.epochal.kit.sink.flush.RowFlush
import io.epochal.kit.sink.row.RowFormat
import io.epochal.kit.sink.transport.{DriverTransport, RowFiles, Shipment, Transport}

/** The target of a run: found or created, and bound to the query's columns. */
trait SinkTarget {

  /** For messages. */
  def name: String

  /** The system, for messages. */
  def place: String

  /** How tasks encode rows. */
  def rowFormat: RowFormat

  /** The transport of an epoch's rows.
    *
    * @param limit
    *   bytes that may travel in the messages of all tasks
    * @param files
    *   for larger tasks; None: there is no place for files
    */
  def transport(tasks: Int, limit: Long, files: => Option[RowFiles]): Transport =
    DriverTransport.shared(tasks, limit, files)

  /** Whether tasks can store rows in the middle of an epoch (K12); otherwise only micro-batches can be written. */
  def flushes: Boolean = false

  /** Creates the tasks' [[RowFlush]]; called if `flushes`, before the first task. */
  def flush(@unused queryId: String): RowFlush = throw new UnsupportedOperationException(s"no flushes into $name")

  /** Stops all tasks of this run from storing rows in the middle of an epoch, with the reason. It may fail. */
  def failed(@unused reason: String): Unit = ()

  /** For the progress: which transport the rows took, and why. */
  def describe(shipment: Shipment, @unused tasks: Int): Map[String, String] = Map("transport" -> shipment.driverWay)

  /** Runs `body` in a transaction that it commits itself; uncommitted work is rolled back. A transient failure runs all of it
    * again.
    *
    * @param step
    *   completes "failed in …"
    */
  def inTransaction[A](step: String)(body: SinkTransaction => A): A

  /** Whether a COMMIT that failed with this error may have taken effect. */
  def losesConnection(error: Throwable): Boolean

  /** Whether an error means that the system was unreachable: the outcome of a lost COMMIT is then unknown. */
  def couldNotAsk(error: EpochalException): Boolean

  /** After the COMMIT, or for an epoch committed before: finishes what tasks have brought to the system themselves. */
  def committed(@unused shipment: Shipment, @unused outcome: EpochOutcome): Unit = ()

  /** After an epoch failed, while its tasks may still run: removes their data from the system. It must not fail, which would
    * hide the reason; the next claim removes the rest.
    */
  def abandoned(): Unit = ()
}

/** An open transaction. Each read sees what others committed before it. */
trait SinkTransaction {

  /** The id by which the system can report the outcome later, if it can. */
  def id: Option[String] = None

  def server: ServerIdentity

  /** Whether another transaction was committed, once it has ended; None: the system does not record it. Throws a transient
    * error while it is in progress.
    */
  def isCommitted(@unused transaction: String): Option[Boolean] = None

  /** The sink's row, locked until the transaction ends; None: the ledger has lost it. */
  def ledgerRow(): Option[LedgerRow]

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

/** The ledger's progress of rows stored in the middle of epochs (K12), within a transaction that has locked the sink's row. */
trait SinkProgress {

  /** Waits for running flushes, and blocks others until the transaction ends. */
  def lock(): Unit

  /** The progress of a query; that of other queries under this sink id is kept. */
  def read(queryId: String): Progress

  /** Prepares the target for rows in the middle of an epoch: adds their columns. */
  def prepare(): Unit

  /** Makes a boundary the only one, and begins the counts there. */
  def anchor(queryId: String, boundary: Boundary): Unit

  /** Records the hash of the offsets that Spark has logged for a boundary. */
  def note(queryId: String, epoch: Long, offsetsHash: String): Unit

  /** Removes a query's progress: its next epoch ends in micro-batches. */
  def end(queryId: String): Unit

  /** Writes the end of an epoch, and drops boundaries that no restart needs. */
  def record(commit: ProgressCommit): Unit
}
