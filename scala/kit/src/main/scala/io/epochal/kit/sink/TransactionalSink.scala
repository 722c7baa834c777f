package io.epochal.kit.sink

import java.time.Duration

import scala.annotation.unused

import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger._
import io.epochal.core.option.OptionGroup
import io.epochal.kit.sink.flush.{FlushSettings, RowFlush}
import io.epochal.kit.sink.row.RowFormat
import io.epochal.kit.sink.transport.{DriverTransport, RowFiles, Shipment, Transport}

/** A sink into a transactional system: what a connector implements to have rows written exactly once. It keeps the rows and,
  * committed with them, a ledger with one row for each sink. On the driver; one object serves a query from its start to its
  * end.
  *
  * It stores and locks. `core.ledger` decides from the ledger's rows who may write and whether an epoch is new; [[Claims]] and
  * [[EpochCommit]] call it. The smallest implementation is the tests' `MemorySink`.
  */
trait TransactionalSink {

  /** The format's name, for messages. */
  def format: String

  /** The system, for messages: no secrets. */
  def place: String

  /** The target and its system, for plans and progress. */
  def description: String

  def settings: SinkSettings

  /** Why the rows cannot replace the whole target; called before the query is planned. */
  def refusesWhole: Option[EpochalException] = None

  /** Why rows cannot be written in this way; called before the first task. */
  def refuses(@unused how: WriteKind): Option[EpochalException] = None

  /** Why a continuous or real-time query cannot be written; called before the first task. Such a sink stores rows in the middle
    * of an epoch ([[SinkTarget.flush]]).
    */
  def refusesEndless(how: WriteKind): Option[EpochalException] = MicroBatches.refused(format, how.trigger)

  /** Refusal for this trigger, if any. */
  final private[sink] def refusesQuery(how: WriteKind): Option[EpochalException] =
    if (how.trigger == TriggerMode.MicroBatch) refuses(how) else refusesEndless(how)

  /** Whether tasks may put rows that are too many for their messages into files. */
  def usesFiles: Boolean = true

  /** A query has started that nothing refuses, before its first epoch; called only where [[SinkEngine.atStart]] was. A failure
    * is logged: the claim repeats what is needed.
    */
  def started(@unused run: Run, @unused schema: StructType): Unit = ()

  /** Claims the sink for a run, in one transaction: prepares the target, locks the sink's row, and writes the result of
    * `decide`. Two claims of a sink wait for each other, and so do claims of two sinks for one target.
    *
    * @param decide
    *   the new ledger row, or why the run may not write; called again whenever the transaction is retried
    */
  def claim(run: Run, schema: StructType)(decide: LedgerState => Either[EpochalException, LedgerRow]): Claimed

  /** Prepares the target of a batch write, which has no row in the ledger.
    *
    * @param id
    *   unique to this write
    */
  def prepare(id: String, schema: StructType): SinkTarget

  /** The query, or the batch write, has ended, successfully or not: closes resources kept open for it. */
  def ended(): Unit = ()
}

/** Settings that all transactional sinks share.
  *
  * @param sinkId
  *   None: the query's id
  * @param inlineMaxBytes
  *   of an epoch, that may travel in the tasks' messages
  * @param spillDirectory
  *   for files of rows; None: the checkpoint
  * @param badRowLimit
  *   of an epoch; None: the first bad row fails it
  * @param flush
  *   when a continuous or real-time query stores rows
  */
final case class SinkSettings(
    sinkId: Option[String],
    onNewQuery: OnNewQuery,
    onLedgerEmpty: OnLedgerEmpty,
    onEpochMismatch: OnEpochMismatch,
    inlineMaxBytes: Long,
    spillDirectory: Option[String],
    badRowLimit: Option[Int],
    flush: FlushSettings = FlushSettings(Duration.ofMillis(10), 10000))

/** How rows are written.
  *
  * @param whole
  *   they replace all rows of the target
  * @param outputMode
  *   of the query; None: a batch
  * @param trigger
  *   of the query
  */
final case class WriteKind(
    whole: Boolean,
    outputMode: Option[OutputMode],
    trigger: TriggerMode = TriggerMode.MicroBatch)

/** A run that claims a sink.
  *
  * @param queryId
  *   stable over restarts
  * @param runId
  *   differs from start to start
  */
final case class Run(sinkId: String, queryId: String, runId: String)

/** The ledger's state when a run claims a sink.
  *
  * @param target
  *   the target of the run
  * @param current
  *   the sink's row, locked; None: there is none
  * @param known
  *   this query's row from before another query took the sink over
  * @param others
  *   the rows of other sinks with the same target
  * @param stored
  *   the query's rows that were stored in the middle of epochs
  */
final case class LedgerState(
    target: Target,
    server: ServerIdentity,
    current: Option[LedgerRow],
    known: Option[LedgerRow] = None,
    others: Seq[LedgerRow] = Nil,
    stored: Progress = Progress.Empty)

/** The result of a claim: the run's row in the ledger, with its generation, and the target. */
final case class Claimed(row: LedgerRow, target: SinkTarget)

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

  /** Whether tasks can store rows in the middle of an epoch; otherwise only micro-batches can be written. */
  def flushes: Boolean = false

  /** Creates the tasks' [[RowFlush]]; called if `flushes`, before the first task. */
  def flush(@unused queryId: String): RowFlush = throw new UnsupportedOperationException(s"no flushes into $name")

  /** Stops all tasks of this run from storing rows in the middle of an epoch, with the reason. It may fail. */
  def failed(@unused reason: String): Unit = ()

  /** For the progress: which transport the rows took, and why. */
  def describe(shipment: Shipment, @unused tasks: Int): Map[String, String] = Map("transport" -> shipment.driverWay)

  /** Runs `body` in a transaction that it commits itself; uncommitted work is rolled back. A transient failure runs all of it
    * again, in a new transaction with the same [[CommitDoubt]].
    *
    * @param step
    *   completes "failed in …"
    * @throws EpochalException
    *   COMMIT_UNKNOWN
    */
  def attempt[A](step: String)(body: SinkTransaction => A): A

  /** After the COMMIT, or for an epoch committed before: finishes what tasks have brought to the system themselves. */
  def committed(@unused shipment: Shipment, @unused outcome: EpochOutcome): Unit = ()

  /** After an epoch failed, while its tasks may still run: removes their data from the system. It must not fail, which would
    * hide the reason; the next claim removes the rest.
    */
  def abandoned(): Unit = ()
}

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

/** The ledger's progress of rows stored in the middle of epochs, within a transaction that has locked the sink's row. */
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

/** The triggers of exactly-once sinks: those that fix an epoch's end before it runs. */
private[epochal] object MicroBatches {

  /** Whose tasks can store a row before its epoch ends. */
  val Databases = "PostgreSQL, MySQL and MariaDB"

  def refused(format: String, trigger: TriggerMode): Option[EpochalException] =
    Option.when(trigger != TriggerMode.MicroBatch)(Conditions.TriggerUnsupported(
      "format" -> format,
      "trigger" -> trigger.name,
      "reason" -> "there Spark sets an epoch's end while the epoch runs, and a restart can deliver other rows under the same number",
      "instead" -> s"{trigger:processingTime=10 seconds} or {trigger:availableNow}; epochal-jdbc has the ${trigger.name} trigger on $Databases"
    ))
}

/** Spark's asynchronous progress tracking, as a query's options set it: an epoch's offsets may then be logged after its rows
  * were written. No sink of this kit supports it.
  */
object AsynchronousProgress {

  def isEnabled(options: Map[String, String]): Boolean = isTrue(options, "asyncProgressTrackingEnabled")

  /** Whether Spark is to skip its check that the sink supports it; in real time Spark 4.3 uses it unless it is disabled. */
  def isForced(options: Map[String, String]): Boolean =
    isTrue(options, "_asyncProgressTrackingOverrideSinkSupportCheck")

  /** Rejects it.
    *
    * @param reason
    *   what it would break
    */
  def refused(group: OptionGroup, options: Map[String, String], reason: String): Either[EpochalException, Unit] =
    Either.cond(
      !isEnabled(options),
      (),
      group.unsupported("run with asynchronous progress tracking", reason, "Leave asyncProgressTrackingEnabled out."))

  private def isTrue(options: Map[String, String], name: String): Boolean =
    options.exists { case (option, value) => option.equalsIgnoreCase(name) && value.trim.equalsIgnoreCase("true") }
}
