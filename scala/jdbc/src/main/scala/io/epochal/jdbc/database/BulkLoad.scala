package io.epochal.jdbc.database

import java.sql.Connection

import scala.annotation.unused

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.{ContentDigest, LedgerRow}
import io.epochal.kit.sink.transport.{BulkMessage, Shipment, TaskAttempt}

/** A run, as identified by what its tasks leave in the database.
  *
  * @param runId
  *   after a ledger was set back the same generation can be issued again, but not the same run id
  * @param shape
  *   the table's column types when the columns were bound
  * @param once
  *   a batch write: it has no successor under this sink id
  */
final case class BulkRun(
    sinkId: String,
    generation: Long,
    runId: String,
    table: BoundTable,
    shape: String,
    once: Boolean) {

  /** The mark under which other sessions see its transactions. */
  @transient lazy val writer: Writer = Writer.of(table.table.name.schema, sinkId, generation)

  /** Whether this run is the one that may write, by the sink's row in the ledger. */
  def isCurrent(row: Option[LedgerRow]): Boolean = row.exists(r => r.generation == generation && r.runId == runId)

  /** The error of this run after another has claimed the sink.
    *
    * @param current
    *   the generation that may write
    */
  def fenced(current: Option[Long]): EpochalException =
    Conditions.SinkFenced("sinkId" -> sinkId, "generation" -> generation, "current" -> current.fold("none")(_.toString))
}

/** A way for tasks to bring rows to the database without making them visible. Stateless; serialized to the tasks.
  *
  * A dialect that has one offers it as [[Dialect.bulk]].
  */
trait BulkLoad extends Serializable {

  /** The value of the option `transport`. */
  def name: String

  /** The tables in which it keeps its state, beside the ledger. */
  def tables: Seq[String] = Nil

  /** Whether the server and the write mode allow it. Called before the query starts.
    *
    * @param append
    *   the write only adds rows
    */
  def check(@unused connection: Connection, @unused append: Boolean): Either[EpochalException, Unit] = Right(())

  /** Same check, once the number of tasks is known. */
  def checkTasks(@unused database: Database, @unused tasks: Int): Either[EpochalException, Unit] = Right(())

  /** Creates the tables that it needs, in the claim's transaction. */
  def claim(connection: Connection, run: BulkRun): Unit

  /** Whether a decided epoch is still completed if the next run takes another transport. */
  def outlastsItsRun: Boolean = false

  /** The tasks' transactions that hold locks on the run's target and have no session: only a start ends them. */
  def holding(@unused connection: Connection, @unused run: BulkRun): Seq[String] = Nil

  /** Statements that end the tasks' transactions as a start would; only while no run of the sink is active. */
  def endings(@unused connection: Connection, @unused run: BulkRun): Seq[String] = Nil

  /** Called in the transaction of a claim that found no ledger row: discards decisions made under an earlier ledger.
    */
  def forget(@unused connection: Connection, @unused run: BulkRun): Unit = ()

  /** Called in a task: starts to take the rows of one attempt, in the connection's open transaction.
    *
    * @param token
    *   unique to this attempt
    */
  def open(connection: Connection, run: BulkRun, attempt: TaskAttempt, token: String): BulkCopy

  /** Called in a task that lost its connection, on a new one: the error if a newer run has claimed the sink and thereby ended this
    * run's transactions.
    */
  def fenced(connection: Connection, run: BulkRun): Option[EpochalException]

  /** Called in the committing transaction: moves the rows of the given attempts, and no others, into the table, and checks their
    * numbers against the messages.
    */
  def load(connection: Connection, run: BulkRun, shipment: Shipment, epoch: String): Loaded

  /** Called in the committing transaction, when the ledger row is written: records what remains to be done after the COMMIT. */
  def decide(
      @unused connection: Connection,
      @unused run: BulkRun,
      @unused epoch: Long,
      @unused messages: Seq[BulkMessage]): Unit = ()

  /** Called after the COMMIT: completes the epoch, and removes the leftovers of attempts that do not count. Idempotent. */
  def complete(@unused database: Database, @unused run: BulkRun, @unused messages: Seq[BulkMessage]): Unit = ()

  /** Completes what was decided and removes what never will be: of this run, which must not be committing, and of older runs of
    * the same sink. Runs its own transactions, under the ledger's lock.
    */
  def settle(database: Database, run: BulkRun): Unit
}

/** Takes the rows of one attempt. */
trait BulkCopy {
  def write(bytes: Array[Byte], length: Int): Unit

  /** Ends the transaction so that the rows outlive the task, visible only to the driver's commit.
    *
    * @param digest
    *   of all the attempt's rows, including bad ones
    * @param rows
    *   number of rows written
    * @return
    *   the place of the rows, for the message to the driver
    */
  def finish(digest: ContentDigest, rows: Long): String

  /** Whether the rows may be in place although the connection was lost before the response to `finish`. */
  def isInDoubt: Boolean = false

  /** Looks for the rows after `finish` lost its response.
    *
    * @param connection
    *   a new one
    * @param transaction
    *   the id of the transaction in which the rows were written
    * @return
    *   the rows' place; None: they were not stored and never will be
    * @throws java.sql.SQLException
    *   a transient one, while the outcome is undecided
    */
  def find(@unused connection: Connection, @unused transaction: Option[String]): Option[String] = None

  /** Abandons an unfinished copy, so that the transaction can be rolled back. */
  def cancel(): Unit
}
