package io.epochal.jdbc.database

import java.sql.Connection

import scala.annotation.unused

import io.epochal.core.error.EpochalException
import io.epochal.kit.sink.transport.{BulkMessage, Shipment, TaskAttempt}

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
