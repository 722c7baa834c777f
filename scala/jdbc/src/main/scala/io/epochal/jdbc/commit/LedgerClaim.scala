package io.epochal.jdbc.commit

import java.sql.Connection
import java.time.Duration
import java.util.Locale
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.util.control.NonFatal

import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.{LedgerRow, Progress, Target}
import io.epochal.core.thread.DaemonThreads
import io.epochal.jdbc.database._
import io.epochal.jdbc.routing.QueryTables
import io.epochal.jdbc.table.Interference
import io.epochal.kit.sink.{Claimed, LedgerState, Run}

/** Claims a sink in its ledger for one run, which fences earlier runs, and finds or creates its table. */
final private[jdbc] class LedgerClaim(
    database: Database,
    schema: StructType,
    run: Run,
    decide: LedgerState => Either[EpochalException, LedgerRow]) {
  import LedgerClaim._

  private val dialect = database.dialect

  private val several = QueryTables.of(schema, database.options).fold(throw _, identity)
  private val tables = several.toSeq.flatMap(_.all).map(table => table -> database.of(table.options))

  def claim(): Claimed = {
    var watch = Option.empty[ClaimWatch]
    val (row, claimedRun, routedTables) =
      try {
        makeReady()
        database.attempt("the claim of the ledger") { transaction =>
          val connection = transaction.connection
          val existing = if (several.isEmpty) dialect.catalog.find(connection, database.options.table) else None
          val name =
            if (several.nonEmpty) rule(connection).table.name
            else existing.fold(dialect.catalog.newName(connection, database.options.table))(_.name)
          val ledger = LedgerTable.of(database, name)
          val watching = new ClaimWatch(ledger, name.schema)
          watch = Some(watching)
          val claimedRun = watching.over(connection)(claim(connection, ledger, made = existing.isEmpty))
          transaction.commit()
          claimedRun
        }
      } catch {
        case error: EpochalException if isOfDatabase(error) =>
          throw watch
            .flatMap(_.refusal)
            .orElse(watch.filter(_.blockers.nonEmpty).map(sinkBlocked(_, error)))
            .getOrElse(bindings.foldLeft(error) { case (reason, (of, columns)) =>
              Interference.ofClaim(of, columns, keepsLedger = true)(reason)
            })
      }
    if (several.isEmpty)
      dialect.bulk
        .filter(bulk => bulk.outlastsItsRun || database.bulk.contains(bulk))
        .foreach(_.settle(database, claimedRun))
    Claimed(row, new JdbcTarget(database, claimedRun, several.map(RoutedTables(_, routedTables))))
  }

  private def rule(connection: Connection): BoundTable =
    TargetTables.rule(database, tables.map(_._1.options.table), connection)

  /** Each table of the query with its columns. */
  private def bindings: Seq[(Database, StructType)] =
    if (several.isEmpty) Seq(database -> schema) else tables.map { case (table, of) => of -> table.schema }

  /** First locks the sink's own row and its progress, and binds the table: each step can wait for another transaction. Only
    * then it takes the lock shared by all sinks' claims, and never waits while holding it.
    */
  private def claim(
      connection: Connection,
      ledger: LedgerTable,
      made: Boolean): (LedgerRow, BulkRun, Seq[RoutedTable]) = {
    val hasLedger = ledger.exists(connection)
    val mine = if (hasLedger) ledger.lock(connection, run.sinkId) else None
    val progress = this.progress(connection, ledger)
    progress.foreach(_.lock())
    lazy val serialize: Unit = if (!dialect.ledger.serializeClaims(connection)) {
      ledger.create(connection)
      ledger.createLock(connection)
      ledger.takeLock(connection)
    }
    val lockedTables = tables.map { case (table, _) =>
      val id = RoutedTable.sinkId(run.sinkId, table)
      if (hasLedger) ledger.lock(connection, id) else None
    }
    def prepare(of: Database, columns: StructType)(beforeCreation: => Unit) =
      TargetTables.prepare(of, columns, connection, make = !dialect.abilities.ddlCommits)(beforeCreation)
    val bounds =
      if (several.isEmpty) Seq(prepare(database, schema)(serialize))
      else {
        val existing = tables.map { case (table, of) =>
          dialect.catalog.find(connection, of.options.table).map(_ => prepare(of, table.schema)(()))
        }
        serialize
        tables.zip(existing).map { case ((table, of), bound) => bound.getOrElse(prepare(of, table.schema)(())) }
      }
    val bound = if (several.isEmpty) bounds.head else rule(connection)
    ledger.create(connection)
    if (mine.isEmpty && ledger.find(connection, run.sinkId).isDefined) throw TargetTables.overtaken
    // Creating the table may have committed the transaction and released the row's lock.
    val before = if (made && mine.isDefined) ledger.lock(connection, run.sinkId) else mine
    val target = bound.table.target
    val storedProgress = progress.fold(Progress.Empty)(_.read(run.queryId))
    val server = dialect.server(connection)
    def claimRow(of: Run, before: Option[LedgerRow], target: Target, progress: Progress): LedgerRow = {
      val earlier = ledger.earlier(connection, of.sinkId, of.queryId)
      val state = LedgerState(target, server, before, earlier, others(connection, ledger, of, target), progress)
      val row = decide(state).fold(throw _, identity).copy(sinkId = of.sinkId)
      ledger.claim(connection, before, row)
      row
    }
    val row = claimRow(run, before, target, storedProgress)
    progress.foreach { rows =>
      if (before.isEmpty && storedProgress == Progress.Empty) rows.forget()
      rows.claim(row.generation, row.runId)
    }
    val claimedRun = BulkRun(row.sinkId, row.generation, row.runId, bound, bound.shape, once = false)
    database.bulk.foreach(_.claim(connection, claimedRun))
    if (before.isEmpty && several.isEmpty) dialect.bulk.foreach(_.forget(connection, claimedRun))
    val last = before.filter(_.queryId == run.queryId).flatMap(_.last)
    val routedTables = tables.zip(bounds).zip(lockedTables).map { case (((table, of), bound), earlier) =>
      val ofTable = run.copy(sinkId = RoutedTable.sinkId(run.sinkId, table))
      for (all <- last; one <- earlier if ledger.leavesOut(connection, run.sinkId, one))
        throw RoutedTable.leftOut(one, all.epoch, table)
      RoutedTable(table, of, bound, claimRow(ofTable, earlier, bound.table.target, Progress.Empty))
    }
    (row, claimedRun, routedTables)
  }

  /** The rows of other sinks on a target. Sinks of one rule may have different tables, and each table is a target. */
  private def others(connection: Connection, ledger: LedgerTable, of: Run, target: Target): Seq[LedgerRow] = {
    val rows = ledger.others(connection, of, target)
    if (several.nonEmpty && of == run) rows.filter(_.queryId == of.queryId) else rows
  }

  private def progress(connection: Connection, ledger: LedgerTable): Option[ProgressTable] =
    Option.when(dialect.abilities.flushes)(ledger.progress(connection, run.sinkId)).filter(_.exists)

  private def sinkBlocked(watch: ClaimWatch, error: EpochalException): EpochalException = {
    val ending = s"Run, as the role of the sink, ${watch.endings.mkString("; ")}; then start the query again."
    val condition = if (watch.endings.isEmpty) Conditions.SinkBlocked else Conditions.SinkBlocked.withHint(ending)
    condition.because(error)(
      "sinkId" -> run.sinkId,
      "url" -> database.place,
      "waited" -> database.options.lockTimeout.toString.stripPrefix("PT").toLowerCase(Locale.ROOT),
      "blockers" -> watch.blockers.map(_.description).mkString("; "))
  }

  /** Creates missing tables in a separate transaction, for databases where DDL would commit the claim's. */
  private def makeReady(): Unit =
    if (dialect.abilities.ddlCommits) bindings.foreach { case (of, columns) =>
      of.attempt("making the tables ready") { transaction =>
        TargetTables.make(of, columns, transaction) { bound =>
          val ledger = new LedgerTable(dialect, bound.trust, database.place)
          ledger.create(transaction.connection)
          ledger.createLock(transaction.connection)
        }
      }
    }

  /** Finds the sessions that block a claim.
    *
    * A driver that died or froze during a long statement leaves a session that holds the sink's row. Such a session is ended if
    * it provably belongs to this sink and to a generation older than the claim's: its transaction is rolled back, and its run,
    * should it wake, is fenced. No other session is ever ended; the error names it instead. A claim that the ledger will refuse
    * ends no session: the run that blocks it is the rightful one.
    *
    * A claim that succeeds within `grace` costs no check: a healthy predecessor has that long to finish its transaction.
    */
  final private class ClaimWatch(ledger: LedgerTable, schema: String) {

    /** The blocking sessions found by the last check that could not be ended. */
    @volatile var blockers: Seq[Blocker] = Nil

    /** The statements that end transactions of the sink's tasks, where the claim waits for one that has no session. */
    @volatile var endings: Seq[String] = Nil

    /** Why the ledger, as of the last check, would refuse the claim. */
    @volatile var refusal: Option[EpochalException] = None

    /** The error of the JVM that ended the watch: nothing else would end a claim that waits for a dead run. */
    @volatile private var failure = Option.empty[Throwable]

    /** Runs `body`, which may wait for locks in the transaction that is open on the connection. */
    def over[A](connection: Connection)(body: => A): A = dialect.sessions match {
      case None => body
      case Some(sessions) =>
        val session = sessions.current(connection)
        val finish = new CountDownLatch(1)
        val thread = new DaemonThreads("epochal-claim").newThread { () =>
          try watch(sessions, session, finish)
          catch {
            case error: Throwable =>
              failure = Some(error)
              sessions.abort(connection)
          }
        }
        thread.start()
        try body
        catch { case _: Throwable if failure.nonEmpty => throw failure.get }
        finally finish.countDown()
    }

    private def watch(sessions: Sessions, session: Long, finish: CountDownLatch): Unit = {
      def wait(time: Duration): Boolean = !finish.await(time.toMillis, TimeUnit.MILLISECONDS)
      var waiting = wait(grace)
      while (waiting) {
        try check(sessions, session, finish)
        catch {
          case NonFatal(error) =>
            val reason = database.options.connection.redact(error.getMessage)
            log.warn("epochal-jdbc: cannot see which sessions block the claim: {}", reason)
        }
        waiting = wait(Pause)
      }
    }

    private def check(sessions: Sessions, session: Long, finish: CountDownLatch): Unit =
      database.pool.use() { connection =>
        Transaction.run(connection, dialect, Pause) { transaction =>
          transaction.connection: Unit
          ledger.row(connection, run.sinkId).foreach { row =>
            val successor = Writer.of(schema, run.sinkId, row.generation)
            val decision = decisionOn(connection, row)
            refusal = decision.flatMap(_.left.toOption)
            val (ours, others) = sessions
              .blockers(connection, session, successor)
              .partition(blocker =>
                decision.exists(_.isRight) && blocker.process.isDefined && blocker.writer.exists(successor.supersedes))
            if (finish.getCount > 0) {
              ours.foreach { blocker =>
                log.warn(
                  "epochal-jdbc: ended a session of an older run of sink '{}' that the claim waited for: {}",
                  run.sinkId: Any,
                  blocker.description)
                sessions.end(connection, blocker)
              }
              blockers = others
              if (others.exists(_.process.isEmpty)) endings = ending(connection, row)
            }
          }
        }
      }

    private def ending(connection: Connection, row: LedgerRow): Seq[String] =
      dialect.catalog.find(connection, database.options.table).toSeq.flatMap { table =>
        val bound = BoundTable(table, Nil, WriteMode.Append, trustedOwners = database.options.trustedOwners)
        val holder = BulkRun(row.sinkId, row.generation, row.runId, bound, "", once = false)
        dialect.bulk.flatMap(_.endings(connection, holder))
      }

    /** The ledger's current decision on the claim; None while the ledger's table is missing. */
    private def decisionOn(connection: Connection, row: LedgerRow): Option[Either[EpochalException, LedgerRow]] = {
      val target =
        if (several.nonEmpty) Some(rule(connection).table.target)
        else dialect.catalog.find(connection, database.options.table).map(_.target)
      target.map { target =>
        val earlierRow = ledger.earlier(connection, run.sinkId, run.queryId)
        val storedProgress = progress(connection, ledger).fold(Progress.Empty)(_.read(run.queryId))
        val others = LedgerClaim.this.others(connection, ledger, run, target)
        decide(LedgerState(target, row.server, Some(row), earlierRow, others, storedProgress))
      }
    }

    private def grace: Duration = Seq(database.options.lockTimeout.dividedBy(3), LongestGrace).min
  }
}

private object LedgerClaim {
  private val log = LoggerFactory.getLogger(classOf[LedgerClaim])
  private val LongestGrace = Duration.ofSeconds(10)
  private val Pause = Duration.ofSeconds(1)

  private def isOfDatabase(error: EpochalException): Boolean =
    error.condition == Conditions.DatabaseError || error.condition == Conditions.DatabaseLocked
}
