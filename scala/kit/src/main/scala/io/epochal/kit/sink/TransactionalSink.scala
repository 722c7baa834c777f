package io.epochal.kit.sink

import scala.annotation.unused

import org.apache.spark.sql.types.StructType

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger._

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
