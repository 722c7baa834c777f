package io.epochal.jdbc.database

import java.sql.Connection

import scala.annotation.unused

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.ContentDigest
import io.epochal.kit.sink.transport.{BulkMessage, Shipment, TaskAttempt}

/** A run, as what its tasks leave in the database names it.
  *
  * @param runId
  *   a ledger that was set back can give the same generation again, but not to the same run
  * @param shape
  *   of the table when its columns were bound
  * @param once
  *   a batch write: nobody comes after it under this sink id
  */
final case class BulkRun(
    sinkId: String,
    generation: Long,
    runId: String,
    table: BoundTable,
    shape: String,
    once: Boolean) {

  /** Under which other sessions see its transactions. */
  def writer: Writer = Writer.of(table.table.name.schema, sinkId, generation)

  /** Whether it is the one that may write.
    *
    * @param owner
    *   generation and run id of the sink's row in the ledger
    */
  def isCurrent(owner: Option[(Long, String)]): Boolean = owner.contains((generation, runId))
}

/** A way for tasks to bring rows to the database without showing them (K6). Travels to the tasks; holds no state.
  *
  * A dialect that has one offers it as [[Dialect.bulk]].
  */
trait BulkLoad extends Serializable {

  /** As the option `transport` has it. */
  def name: String

  /** Whether the server, and this way of writing, allow it. Before the query starts.
    *
    * @param append
    *   rows are only added
    */
  def check(@unused connection: Connection, @unused append: Boolean): Either[EpochalException, Unit] = Right(())

  /** The same when the number of tasks is known. */
  def checkTasks(@unused database: Database, @unused tasks: Int): Either[EpochalException, Unit] = Right(())

  /** In the claim's transaction: makes the tables that it needs. */
  def claim(connection: Connection, run: BulkRun): Unit

  /** Whether what a run has decided is still to be done when the next one takes another transport. */
  def outlastsItsRun: Boolean = false

  /** In the transaction of a claim that found no row in the ledger: what was decided under the ledger of before is not
    * decided any more.
    */
  def forget(@unused connection: Connection, @unused run: BulkRun): Unit = ()

  /** In a task: begins to take the rows of one attempt, in the transaction that is open on the connection.
    *
    * @param token
    *   of this attempt alone
    */
  def open(connection: Connection, run: BulkRun, attempt: TaskAttempt, token: String): BulkCopy

  /** In a task whose connection was lost, on another: whether a newer run has claimed the sink, which ends the transactions
    * of older ones.
    */
  def fenced(connection: Connection, run: BulkRun): Option[EpochalException]

  /** In the committing transaction: brings the rows of the attempts named, and no others, into the table, and compares
    * their numbers with the messages (K13).
    */
  def load(connection: Connection, run: BulkRun, shipment: Shipment, epoch: String): Loaded

  /** In the committing transaction, when the ledger row is written: notes what is to be done after the COMMIT. */
  def decide(
      @unused connection: Connection,
      @unused run: BulkRun,
      @unused epoch: Long,
      @unused messages: Seq[BulkMessage]): Unit = ()

  /** After the COMMIT: does it, and removes what attempts that do not count have left. May be called again. */
  def complete(@unused database: Database, @unused run: BulkRun, @unused messages: Seq[BulkMessage]): Unit = ()

  /** Completes what was decided, and removes what was not and never will be: of this run, while it commits nothing, and of
    * older ones of the same sink. Runs transactions of its own, under the ledger's lock.
    */
  def settle(database: Database, run: BulkRun): Unit
}

/** Takes the rows of one attempt. */
trait BulkCopy {
  def write(bytes: Array[Byte], length: Int): Unit

  /** Ends the transaction so that the rows outlive the task, invisible to all but the driver's commit.
    *
    * @param digest
    *   of the attempt's rows, those that cannot be stored too
    * @param rows
    *   that were written
    * @return
    *   where they are
    */
  def finish(digest: ContentDigest, rows: Long): String

  /** Whether the rows may be in place although the response to `finish` is lost with the connection. */
  def isInDoubt: Boolean = false

  /** Where that is in doubt: looks for the rows.
    *
    * @param connection
    *   another one
    * @param transaction
    *   the id of the one in which the rows were written
    * @return
    *   where they are; None: nowhere, and they never will be
    * @throws java.sql.SQLException
    *   one that passes, while that is not decided
    */
  def find(@unused connection: Connection, @unused transaction: Option[String]): Option[String] = None

  /** Leaves a copy that is not finished, so that the transaction can be rolled back. */
  def cancel(): Unit
}
