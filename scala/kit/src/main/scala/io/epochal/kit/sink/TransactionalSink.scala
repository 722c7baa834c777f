package io.epochal.kit.sink

import java.time.Duration

import scala.annotation.unused

import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.{
  LedgerRow,
  OnEpochMismatch,
  OnLedgerEmpty,
  OnNewQuery,
  ServerIdentity,
  Target,
  TriggerMode
}
import io.epochal.kit.sink.flush.FlushSettings

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

  /** Whether tasks may put rows that are too many for their messages into files. */
  def usesFiles: Boolean = true

  /** Claims the sink for a run, in one transaction: prepares the target, locks the sink's row, and writes the result of
    * `decide` (K5). Two claims of a sink wait for each other, and so do claims of two sinks for one target.
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
  */
final case class LedgerState(
    target: Target,
    server: ServerIdentity,
    current: Option[LedgerRow],
    known: Option[LedgerRow] = None,
    others: Seq[LedgerRow] = Nil)

/** The result of a claim: the run's row in the ledger, with its generation, and the target. */
final case class Claimed(row: LedgerRow, target: SinkTarget)
