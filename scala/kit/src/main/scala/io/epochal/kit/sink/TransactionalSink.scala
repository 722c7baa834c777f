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

/** A sink into a system with transactions: what a connector supplies to have rows written exactly once. It keeps the rows and,
  * committed with them, a ledger of one row for each sink. On the driver; one serves a query from its start to its end.
  *
  * It stores and locks; who may write and whether an epoch is new is decided from the ledger's rows, by `core.ledger`, and by
  * [[Claims]] and [[EpochCommit]], which call it. The `MemorySink` of the tests is the smallest.
  */
trait TransactionalSink {

  /** The format's name, for messages. */
  def format: String

  /** The system, for messages: no secrets. */
  def place: String

  /** What is written and where, for plans and progress. */
  def description: String

  def settings: SinkSettings

  /** Why rows that are all the target is to hold cannot be written; asked before the query is planned. */
  def refusesWhole: Option[EpochalException] = None

  /** Why rows cannot be written in this way; asked before the first task. */
  def refuses(@unused how: WriteKind): Option[EpochalException] = None

  /** Why a continuous or real-time query cannot be written; asked before the first task. Such a sink stores rows in the middle of
    * an epoch ([[SinkTarget.flush]]).
    */
  def refusesEndless(how: WriteKind): Option[EpochalException] = MicroBatches.refused(format, how.trigger)

  /** Whether tasks may put rows that are too many for their messages into files. */
  def usesFiles: Boolean = true

  /** Claims the sink for a run, in one transaction: makes the target ready, locks the sink's row, and writes what `decide` makes
    * of the ledger (K5). Two claims of a sink wait for each other; so do claims of two sinks for one target.
    *
    * @param decide
    *   the row that the ledger is to hold, or why the run may not write; asked anew whenever the transaction is tried again
    */
  def claim(run: Run, schema: StructType)(decide: LedgerState => Either[EpochalException, LedgerRow]): Claimed

  /** Makes the target of a batch write ready. It has no row in the ledger.
    *
    * @param id
    *   of this write alone
    */
  def prepare(id: String, schema: StructType): SinkTarget

  /** The query, or the batch write, has ended, whatever it ended with: what is kept open for it can be closed. */
  def ended(): Unit = ()
}

/** What the query asked of any transactional sink.
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

/** How rows are to be written.
  *
  * @param whole
  *   they are all that the target is to hold
  * @param outputMode
  *   of the query; None: a batch
  * @param trigger
  *   of the query
  */
final case class WriteKind(
    whole: Boolean,
    outputMode: Option[OutputMode],
    trigger: TriggerMode = TriggerMode.MicroBatch)

/** Who claims.
  *
  * @param queryId
  *   stable over restarts
  * @param runId
  *   differs from start to start
  */
final case class Run(sinkId: String, queryId: String, runId: String)

/** What the ledger holds when a run claims a sink.
  *
  * @param target
  *   what the run is going to write
  * @param current
  *   the sink's row, locked; None: there is none
  * @param known
  *   what this very query had when another took the sink over from it
  * @param others
  *   the rows of other sinks with the same target
  */
final case class LedgerState(
    target: Target,
    server: ServerIdentity,
    current: Option[LedgerRow],
    known: Option[LedgerRow] = None,
    others: Seq[LedgerRow] = Nil)

/** What a run may write: its row in the ledger, with its generation, and the target. */
final case class Claimed(row: LedgerRow, target: SinkTarget)
