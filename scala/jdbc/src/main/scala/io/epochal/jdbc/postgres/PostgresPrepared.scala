package io.epochal.jdbc.postgres

import java.sql.{Connection, SQLException}

import org.apache.spark.TaskContext

import io.epochal.core.error.EpochalException
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.ContentDigest
import io.epochal.jdbc.commit.KeptTables
import io.epochal.jdbc.database.{BulkCopy, BulkRun, Database, Loaded, Transaction}
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._
import io.epochal.kit.sink.transport.{BulkMessage, Shipment, TaskAttempt}

/** Tasks COPY into the target and prepare their transactions. The driver decides in the ledger's transaction, then commits the
  * prepared ones one by one.
  *
  * {{{
  *   task: BEGIN, COPY, PREPARE TRANSACTION gid ──► undecided ── the driver's COMMIT with gid in epochal_prepared ──► decided
  *                                                      │                                                              │
  *                                       settle: ROLLBACK PREPARED                             complete, settle: COMMIT PREPARED
  * }}}
  *
  *   - A transaction is decided if and only if its gid is in `epochal_prepared`, which is written with the ledger row. Decided
  *     transactions are committed, by this run or the next; all others are rolled back.
  *   - A gid identifies the sink, generation and task: see [[Gid]]. A gid of an older generation can no longer be decided, since its run would
  *     have to lock the ledger row and find its own generation in it.
  *   - The outcome of an epoch is atomic, but its rows become visible partition by partition.
  *
  * The same user and database must finish what a task prepared. A prepared transaction holds its locks until it is settled: by the
  * next epoch, or by the next start, under any transport.
  */
private[postgres] object PostgresPrepared extends PostgresBulk {
  import PostgresBulk.ledger

  override val name = "prepared"
  val Registry = "epochal_prepared"
  override val tables: Seq[String] = Seq(Registry)

  override def check(connection: Connection, append: Boolean): Either[EpochalException, Unit] =
    if (!append)
      Left(
        JdbcOptions.unsupported(
          "replace or delete rows with {option:transport=prepared}",
          "its tasks can only add rows",
          JdbcOptions.noTransport))
    else checkCapacity(connection, 1)

  /** Each task's prepared transaction stays until its epoch is committed, and a retried attempt adds one. */
  override def checkTasks(database: Database, tasks: Int): Either[EpochalException, Unit] =
    database.onConnection("the check of max_prepared_transactions")(connection =>
      SearchPath.pinned(connection)(checkCapacity(connection, tasks)))

  private def checkCapacity(connection: Connection, tasks: Int): Either[EpochalException, Unit] = {
    val capacity = Sql.query(connection, "SELECT current_setting('max_prepared_transactions')::int")(_.getInt(1)).head
    JdbcOptions.ensure(capacity >= tasks)(JdbcOptions.unsupported(
      s"use {option:transport=prepared} with $tasks tasks",
      s"the server's max_prepared_transactions is $capacity",
      s"Set it to ${tasks * 2} or more and restart the server, write fewer partitions, or leave {option:transport} out."
    ))
  }

  override def claim(connection: Connection, run: BulkRun): Unit = new DecidedTransactions(connection, run).create()

  override def open(connection: Connection, run: BulkRun, attempt: TaskAttempt, token: String): BulkCopy =
    if (isApplied(connection, run, attempt)) new Repetition(connection, run) else copy(connection, run, attempt, token)

  /** Whether the epoch is applied already. Then the driver will request no rows, and the task must not write them, not even to roll
    * them back: a unique index would reject them.
    */
  private def isApplied(connection: Connection, run: BulkRun, attempt: TaskAttempt): Boolean =
    ledger(run).find(connection, run.sinkId).flatMap(_.last).exists(_.epoch >= attempt.epoch.toLong)

  final private class Repetition(connection: Connection, run: BulkRun) extends BulkCopy {
    override def write(bytes: Array[Byte], length: Int): Unit = ()
    override def finish(digest: ContentDigest, rows: Long): String = {
      checkStillMine(connection, run)
      PostgresDialect.rollback(connection)
      "nowhere, since the epoch was applied before"
    }
    override def cancel(): Unit = ()
  }

  private def copy(connection: Connection, run: BulkRun, attempt: TaskAttempt, token: String): BulkCopy =
    new BulkCopy {
      private val gid = Gid.of(run, attempt, token)
      private var doubtful = false
      // The target's triggers run from here to the end of the COPY, and again at PREPARE TRANSACTION.
      SearchPath.restore(connection)
      private val copy =
        new CopyStream(connection, PostgresDialect.quote(run.table.table.name), run.table.columnNames)
      override def write(bytes: Array[Byte], length: Int): Unit = copy.write(bytes, length)

      override def finish(digest: ContentDigest, rows: Long): String = {
        val storedRows = copy.finish()
        SearchPath.pin(connection)
        Loaded.Rows(storedRows, rows).check(attempt.epoch, run.table.table.name)
        checkStillMine(connection, run)
        SearchPath.restore(connection)
        doubtful = true
        Sql.run(connection, s"PREPARE TRANSACTION '$gid'")
        Failpoints.reach(Failpoint.TaskPrepared)
        // Its message will never be sent, and the driver may have settled before this PREPARE.
        if (cancelled) {
          end(connection, s"ROLLBACK PREPARED '$gid'")
          throw interruption
        }
        gid
      }

      override def isInDoubt: Boolean = doubtful

      override def find(other: Connection, transaction: Option[String]): Option[String] = {
        val result = SearchPath.pinned(other) {
          val present = new DecidedTransactions(other, run).prepared.find(_ == gid)
          // A prepared transaction also counts as in progress.
          if (present.isEmpty) transaction.foreach(PostgresDialect.isCommitted(other, _))
          present
        }
        if (result.isDefined && cancelled) {
          end(other, s"ROLLBACK PREPARED '$gid'")
          throw interruption
        }
        result
      }

      override def cancel(): Unit = copy.close()
    }

  private def cancelled: Boolean = Option(TaskContext.get()).exists(_.isInterrupted())
  private def interruption = new InterruptedException("the task was cancelled")

  /** Fails a cancelled task or a fenced run: a transaction that it prepared would stay until the next settlement. */
  private def checkStillMine(connection: Connection, run: BulkRun): Unit = {
    if (cancelled) throw interruption
    ledger(run).fenced(connection, run).foreach(throw _)
  }

  /** Checks that every prepared transaction is there to be committed. The tasks have counted the rows that the server stored. */
  override def load(connection: Connection, run: BulkRun, shipment: Shipment, epoch: String): Loaded = {
    val transactions = new DecidedTransactions(connection, run).prepared.toSet
    shipment.elsewhere.find(message => !transactions(message.place)).foreach { message =>
      throw lost(message.attempt, s"the prepared transaction ${message.place}", 0L, message.stored)
    }
    Loaded.Rows(shipment.stored, shipment.stored)
  }

  override def decide(connection: Connection, run: BulkRun, epoch: Long, messages: Seq[BulkMessage]): Unit =
    new DecidedTransactions(connection, run).replace(epoch, messages.map(_.place))

  /** Then settles, so that nothing else of the sink stays prepared: the leftovers of attempts that do not count would hold locks and
    * the server's few slots for as long as the query runs.
    */
  override def complete(database: Database, run: BulkRun, messages: Seq[BulkMessage]): Unit =
    if (messages.nonEmpty) {
      val others = database.onConnection("the commit of prepared transactions") { connection =>
        messages.foreach(message => commit(connection, message.place))
        isPrepared(connection, run)
      }
      if (others) settle(database, run)
    }

  override def outlastsItsRun: Boolean = true

  override def holding(connection: Connection, run: BulkRun): Seq[String] =
    sql"""SELECT p.gid FROM pg_prepared_xacts AS p JOIN pg_locks AS x ON x.transactionid = p.transaction AND x.pid IS NULL
       |JOIN pg_locks AS l USING (virtualtransaction) WHERE p.database = current_database() AND l.pid IS NULL
       |AND l.relation = ${run.table.table.target.oid}::bigint::oid ORDER BY p.prepared"""
      .query(connection)(_.getString(1))
      .filter(Gid.is)

  override def endings(connection: Connection, run: BulkRun): Seq[String] = {
    val (toCommit, toRollBack) = new DecidedTransactions(connection, run).divided
    toCommit.map(gid => s"COMMIT PREPARED '$gid'") ++ toRollBack.map(gid => s"ROLLBACK PREPARED '$gid'")
  }

  override def forget(connection: Connection, run: BulkRun): Unit = {
    val transactions = new DecidedTransactions(connection, run)
    if (transactions.prepared.nonEmpty) transactions.forget()
  }

  /** Reads the table `epochal_prepared` only if something is prepared: with another transport, it may be missing. */
  override def settle(database: Database, run: BulkRun): Unit =
    database.onConnection("the settlement of prepared transactions") { connection =>
      // A task that froze in its COPY holds the keys of its rows; its run is fenced. A fenced run must end no session: after a
      // ledger was set back, the current run's generation can be lower than its own.
      SearchPath.pinned(connection) {
        if (run.isCurrent(ledger(run).find(connection, run.sinkId))) PostgresSessions.endOlder(connection, run.writer)
      }
      if (isPrepared(connection, run)) {
        val (toCommit, toRollBack) = Transaction.run(connection, database.dialect, database.options.lockTimeout) {
          transaction =>
            val result = new DecidedTransactions(transaction.connection, run).unsettled
            transaction.commit()
            result
        }
        toCommit.foreach(commit(connection, _))
        if (toRollBack.nonEmpty) Failpoints.reach(Failpoint.BeforeCleanup)
        toRollBack.foreach(gid => end(connection, s"ROLLBACK PREPARED '$gid'"))
      }
    }

  private def isPrepared(connection: Connection, run: BulkRun): Boolean =
    SearchPath.pinned(connection)(new DecidedTransactions(connection, run).prepared.nonEmpty)

  private def commit(connection: Connection, gid: String): Unit = {
    Failpoints.reach(Failpoint.BeforeCommitPrepared)
    end(connection, s"COMMIT PREPARED '$gid'")
    Failpoints.reach(Failpoint.AfterCommitPrepared)
  }

  /** Runs outside any transaction. An unknown gid was finished before; a busy one is being finished. */
  private def end(connection: Connection, sql: String): Unit = {
    connection.setAutoCommit(true)
    try Sql.run(connection, sql)
    catch {
      case error: SQLException if error.getSQLState == Unknown => ()
      case error: SQLException if error.getSQLState == Busy => throw new SQLException(error.getMessage, "55P03", error)
    }
  }

  private val Unknown = "42704"
  private val Busy = "55000"
}

/** Ids of prepared transactions: `epochal_<sink>_<generation>_<epoch>_<partition>_<attempt>_<token>`, where the sink is 16
  * hexadecimal digits, a hash of the ledger's schema and the sink id.
  */
private object Gid {
  private val Form = "epochal_[0-9a-f]{16}_\\d+_[0-9a-f_]+".r

  def prefix(run: BulkRun): String = s"epochal_${run.writer.sink}_"

  def of(run: BulkRun, attempt: TaskAttempt, token: String): String =
    s"${prefix(run)}${run.generation}_${attempt.epoch}_${attempt.partition}_${attempt.taskId}_${token.replace("-", "").take(16)}"

  def is(text: String): Boolean = Form.matches(text)
}

/** One sink's rows of the table `epochal_prepared`, and the server's own list of prepared transactions; see
  * [[PostgresPrepared]]. All methods run in the caller's transaction.
  */
final private[postgres] class DecidedTransactions(connection: Connection, run: BulkRun)
    extends KeptTables(PostgresDialect, run.table.trust) {
  private val Name = PostgresPrepared.Registry
  private val decidedTable = quoted(Name)
  private val ledger = PostgresBulk.ledger(run)

  def create(): Unit =
    if (!exists(connection, Name))
      sql"CREATE TABLE $decidedTable (gid text PRIMARY KEY, sink_id text NOT NULL, epoch bigint NOT NULL) WITH (fillfactor = 50)"
        .run(connection)

  /** The gids of this sink that the server holds prepared. */
  def prepared: Seq[String] =
    sql"""SELECT gid FROM pg_prepared_xacts
       |WHERE database = current_database() AND starts_with(gid, ${Gid.prefix(run)})"""
      .query(connection)(_.getString(1))
      .filter(Gid.is)

  /** Decides an epoch. The previous epoch's transactions have been committed, or this one would not be decided; but a replica
    * promoted since may have missed a COMMIT PREPARED. So transactions that are still prepared stay decided.
    */
  def replace(epoch: Long, gids: Seq[String]): Unit = {
    sql"""DELETE FROM $decidedTable AS d WHERE sink_id = ${run.sinkId} AND NOT EXISTS (
       |SELECT FROM pg_prepared_xacts AS p WHERE p.gid = d.gid AND p.database = current_database())""".run(connection)
    gids.foreach(gid =>
      sql"INSERT INTO $decidedTable (gid, sink_id, epoch) VALUES ($gid, ${run.sinkId}, $epoch)".run(connection))
  }

  def forget(): Unit =
    if (exists(connection, Name)) sql"DELETE FROM $decidedTable WHERE sink_id = ${run.sinkId}".run(connection)

  /** The decided and undecided transactions of this run and all others of the sink, including those of a lost ledger with higher
    * generations. Empty for a run that was replaced.
    */
  def unsettled: (Seq[String], Seq[String]) =
    if (run.isCurrent(ledger.lock(connection, run.sinkId))) divided else (Nil, Nil)

  /** The same without the lock: other sessions may change them meanwhile. */
  def divided: (Seq[String], Seq[String]) = {
    val decidedIds =
      if (exists(connection, Name))
        sql"SELECT gid FROM $decidedTable WHERE sink_id = ${run.sinkId}".query(connection)(_.getString(1)).toSet
      else Set.empty[String]
    prepared.partition(decidedIds)
  }
}
