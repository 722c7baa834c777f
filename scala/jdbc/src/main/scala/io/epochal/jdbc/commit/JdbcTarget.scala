package io.epochal.jdbc.commit

import java.sql.{Connection, SQLException}

import org.slf4j.{Logger, LoggerFactory}

import io.epochal.core.error.{Condition, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.{Boundary, LedgerRow, ProgressCommit, ServerIdentity}
import io.epochal.jdbc.database.{BoundTable, BulkRun, Database, Loaded, Transaction, Verification}
import io.epochal.jdbc.routing.RoutedRows
import io.epochal.jdbc.table.{DeadLetterTable, Interference}
import io.epochal.jdbc.transport.{Leftovers, Transports}
import io.epochal.kit.database.{QualifiedName, Sql}
import io.epochal.kit.sink.flush.RowFlush
import io.epochal.kit.sink.row.{DeadLetter, RowFormat}
import io.epochal.kit.sink.transport.{DriverTransport, RowFiles, Shipment, Transport}
import io.epochal.kit.sink.{CommitDoubt, EpochOutcome, SinkProgress, SinkTarget, SinkTransaction}

/** The target table of a run or batch write, with the query's columns bound to it.
  *
  * Rows that tasks brought to the database themselves are moved by the committing transaction, or recorded with the ledger row
  * and completed after the COMMIT ([[io.epochal.jdbc.database.BulkLoad]]).
  *
  * @param several
  *   the tables, if rows are those of several
  */
final private[jdbc] class JdbcTarget(database: Database, run: BulkRun, several: Option[RoutedTables] = None)
    extends SinkTarget {

  private val dialect = database.dialect
  private val bound = run.table
  private val batchSize = database.options.batchSize
  private val ledger = new LedgerTable(dialect, bound.trust, database.place)
  private lazy val isUnchanged = if (several.isEmpty) ledger.isUnchanged(run) else Sql.raw("1 = 1")
  private val single = new TableLoad(database, run)

  override val name: String = bound.table.name.toString
  override def place: String = database.place
  override val rowFormat: RowFormat = several.fold(dialect.rowFormat(bound))(_.rowFormat)

  /** The largest number of tasks that the bulk load was checked for. */
  @volatile private var checkedTasks = 0

  override def transport(tasks: Int, limit: Long, files: => Option[RowFiles]): Transport = database.bulk match {
    case None => DriverTransport.shared(tasks, limit, if (database.isAuto) files else None)
    case Some(bulk) =>
      if (tasks > checkedTasks) bulk.checkTasks(database, tasks).fold(throw _, identity)
      checkedTasks = math.max(tasks, checkedTasks)
      Transports.bulk(database, bulk, run, tasks, limit)
  }

  @volatile private var progressIsReady = false

  override def flushes: Boolean = dialect.abilities.flushes

  override def flush(queryId: String): RowFlush = {
    if (!progressIsReady) makeProgressTables()
    progressIsReady = true
    JdbcFlush(database.options.forTasks, run, queryId)
  }

  private def makeProgressTables(): Unit = database.attempt("making the tables of progress ready") { transaction =>
    val connection = transaction.connection
    val progress = ledger.progress(connection, run.sinkId)
    if (!progress.exists) {
      serialize(connection)
      progress.create()
      progress.exists: Unit
      transaction.commit()
    }
  }

  /** Lets no two transactions create tables at once. */
  private def serialize(connection: Connection): Unit =
    if (!dialect.ledger.serializeClaims(connection)) ledger.takeLock(connection)

  override def failed(reason: String): Unit =
    database.attempt("noting that the run has failed", Some(run.writer)) { transaction =>
      ledger.progress(transaction.connection, run.sinkId).fail(run, reason)
      transaction.commit()
    }

  private lazy val preparedLoad =
    if (bound.alterations.isEmpty && several.isEmpty) dialect.preparedLoad(bound) else None

  /** Whether an epoch was committed. Before, an epoch may be a replay, which must not depend on the table. */
  @volatile private var hasLoaded = false

  /** Whether an epoch that altered the columns was committed. */
  @volatile private var hasAltered = false

  /** How the last epoch's rows were loaded. */
  @volatile private var loadedBy = Map.empty[String, String]

  /** The results of comparisons: of the epoch that is written, and of the last one, with those of earlier chunks of the tables. */
  @volatile private var verifications, lastVerifications = Seq.empty[(BoundTable, Verification)]

  /** The number of rows that the last epoch found to differ. */
  @volatile private var differingRows = 0L

  override def describe(shipment: Shipment, tasks: Int): Map[String, String] =
    (if (several.nonEmpty) super.describe(shipment, tasks) else Transports.describe(database, shipment, tasks)) ++
      loadedBy ++ Verification.metrics(
        lastVerifications.map { case (table, result) => table.table.name.toString -> result },
        differingRows)

  override def attempt[A](step: String)(body: SinkTransaction => A): A =
    database.attempt(step, Option.unless(run.once)(run.writer), diagnose)(transaction =>
      body(new JdbcTransaction(transaction)))

  private def diagnose(error: EpochalException): EpochalException = {
    val keptTables = database.bulk.toSeq.flatMap(_.tables) ++ (if (progressIsReady) ProgressTable.Names else Nil)
    val tables = several.fold(Seq(database -> run))(_.all.map(table => table.database -> table.run))
    tables.foldLeft(error) { case (reason, (of, run)) => Interference.diagnose(of, run, keptTables)(reason) }
  }

  override def committed(shipment: Shipment, outcome: EpochOutcome): Unit = {
    differingRows = verifications.map(_._2.differing).sum
    val (comparisons, replacements) = verifications.partition(_._2.isRequested)
    verifications = Nil
    lastVerifications = replacements ++ recordVerifications(comparisons)
    if (shipment.elsewhere.nonEmpty) database.bulk.foreach { bulk =>
      outcome match {
        case EpochOutcome.Applied(_, _) => bulk.complete(database, run, shipment.elsewhere)
        case EpochOutcome.Repeated(_)   => bulk.settle(database, run)
      }
    }
  }

  /** Records what the epoch's comparisons have found, by the tables. They are in the log, too. Returns them with the results of
    * earlier chunks.
    */
  private def recordVerifications(chunks: Seq[(BoundTable, Verification)]): Seq[(BoundTable, Verification)] =
    if (chunks.isEmpty) Nil
    else
      try {
        val results = record(chunks)
        for (((target, chunk), (_, whole)) <- chunks.zip(results) if chunk.after.nonEmpty && chunk.until.isEmpty) {
          def text = s"compared all chunks of ${target.table.name}: $whole"
          if (whole.isEqual) JdbcTarget.log.info(text) else JdbcTarget.log.warn(text)
        }
        results
      } catch {
        case error: EpochalException =>
          JdbcTarget.log.warn(s"${VerificationTable.Name} lacks the last comparison: ${error.problem}")
          chunks
      }

  private def record(chunks: Seq[(BoundTable, Verification)]): Seq[(BoundTable, Verification)] =
    database.attempt("recording a comparison") { transaction =>
      val connection = transaction.connection
      val table = ledger.verifications(run.sinkId)
      if (!table.exists(connection)) {
        serialize(connection)
        table.create(connection)
      }
      val results = chunks.map { case (target, chunk) => target -> table.record(connection, target, chunk) }
      transaction.commit()
      results
    }

  override def abandoned(): Unit = Leftovers.settle(database, run)

  private def alterColumns(connection: Connection): Unit =
    several
      .fold(Seq(single))(_.all.sortBy(_.bound.table.name.table).map(table => new TableLoad(table.database, table.run)))
      .foreach(_.alterColumns(connection))

  final private class JdbcTransaction(transaction: Transaction) extends SinkTransaction {
    private def connection: Connection = transaction.connection

    private var alters = false

    private def alterOnce(): Unit = if (!hasAltered) {
      alterColumns(connection)
      alters = true
    }

    /** Statements that are sent with the COMMIT. */
    private var last = Seq.empty[Sql]

    override def doubt: CommitDoubt = transaction.doubt
    override def server: ServerIdentity = dialect.server(connection)
    override def isCommitted: Option[Boolean] = doubt.id.flatMap(dialect.isCommitted(connection, _))
    override def ledgerRow(): Option[LedgerRow] =
      ledger.lock(transaction, run.sinkId, if (hasLoaded) preparedLoad else None)

    override def lastRun: Option[String] = ledger
      .latest(connection, run.sinkId, 1)(row =>
        s"run ${row.getString("run_id")}, generation ${row.getLong("generation")}")
      .headOption

    override def apply(shipment: Shipment, whole: Boolean, next: LedgerRow): Unit = {
      val epoch = next.last.get.epoch
      several.fold(load(shipment, whole, epoch.toString))(route(_, shipment, whole, next))
      record(next)
      if (shipment.elsewhere.nonEmpty) database.bulk.foreach(_.decide(connection, run, epoch, shipment.elsewhere))
    }

    override def takeOver(before: LedgerRow, next: LedgerRow): Unit =
      ledger.takeOver(connection, before, next.queryId, bound.table.target)

    override def adopt(next: LedgerRow): Unit = {
      alterColumns(connection)
      several.foreach(_.all.foreach(record(_, next, 0L)))
      record(next)
    }

    private def record(next: LedgerRow): Unit = ledger.recording(next, isUnchanged) match {
      case Some(statements) => last = statements
      case None             => if (!ledger.record(connection, next, isUnchanged)) throw Interference.replaced(run)
    }

    override def applyBatch(shipment: Shipment, whole: Boolean): Unit = {
      load(shipment, whole, Condition.BatchWrite)
      val catalog = dialect.catalog
      val isSame = bound.table.target.oid.forall(catalog.identity(connection, bound.table.name).contains) &&
        catalog.shape(connection, bound) == run.shape
      if (!isSame) throw Interference.replaced(run)
    }

    override lazy val progress: Option[SinkProgress] =
      Option.when(dialect.abilities.flushes)(new JdbcProgress(connection)).filter(progressIsReady || _.exists)

    override def commit(): Unit = {
      try transaction.commit(last)
      catch { case error: SQLException if dialect.ledger.isUnchanged(error) => throw Interference.replaced(run) }
      hasLoaded = true
      hasAltered ||= alters
    }

    /** Loads an epoch's rows into the table and checks that all of them are stored.
      *
      * @param whole
      *   the epoch replaces the table's contents
      */
    private def load(shipment: Shipment, whole: Boolean, epoch: String): Unit = {
      // Only if needed: access to `connection` cancels the prepared load.
      if (bound.alterations.nonEmpty) alterOnce()
      if (whole) single.clear(connection, epoch)
      loadedBy = Map.empty
      verifications = Nil
      if (shipment.stored > 0) {
        val result = single.load(epoch)(loadRows(shipment, epoch))
        loadedBy = result.by
        verifications = result.verification.toSeq.map { one =>
          bound -> (if (shipment.deadLetters.isEmpty || one.isReplaced) one
                    else one.copy(result = Left("bad rows were set aside")))
        }
      }
      bound.deadLetters.foreach(setAside(_, shipment.deadLetters, epoch))
      Failpoints.reach(Failpoint.AfterLoad)
    }

    /** Loads the rows of several tables, and records the epoch for those that have rows. */
    private def route(tables: RoutedTables, shipment: Shipment, whole: Boolean, next: LedgerRow): Unit = {
      val epoch = next.last.get.epoch.toString
      val rows = new RoutedRows(shipment.rows, tables.all.size)
      Loaded.Rows(rows.all, shipment.stored * tables.query.copies).check(epoch, bound.table.name)
      val results = Seq.newBuilder[(BoundTable, Verification)]
      // Before the first rows, for which a check of a foreign key may be pending.
      alterOnce()
      // The same order in all sinks avoids deadlocks.
      tables.all.zipWithIndex.sortBy(_._1.bound.table.name.table).foreach { case (table, i) =>
        val load = new TableLoad(table.database, table.run)
        val ofTable = rows.of(i)
        // Each table is recorded in its first epoch, even without rows.
        val isChanged = whole || ofTable.nonEmpty || table.row.last.isEmpty && !hasLoaded
        if (whole) load.clear(connection, epoch)
        for (rows <- ofTable) {
          val result = load.load(epoch)(dialect.load(connection, table.bound, rows, batchSize))
          results ++= result.verification.map(table.bound -> _)
        }
        if (whole && table.row.queryId != next.queryId)
          ledger.takeOver(connection, table.row, next.queryId, table.bound.table.target)
        if (isChanged) record(table, next, ofTable.fold(0L)(_.rows))
      }
      verifications = results.result()
      Failpoints.reach(Failpoint.AfterLoad)
    }

    private def record(table: RoutedTable, next: LedgerRow, rows: Long): Unit = {
      val epoch = next.last.get
      val row = table.row.copy(last = Some(epoch.copy(digest = epoch.digest.copy(rows = rows))))
      if (!ledger.record(connection, row, ledger.isUnchanged(table.run)))
        throw ledger.fenced(connection, table.run).getOrElse(Interference.replaced(table.run))
    }

    private def loadRows(shipment: Shipment, epoch: String): Loaded =
      database.bulk.filter(_ => shipment.elsewhere.nonEmpty) match {
        case Some(bulk) => bulk.load(connection, run, shipment, epoch)
        case None =>
          transaction
            .loadPrepared(shipment.rows)
            .getOrElse(dialect.load(connection, bound, shipment.rows, batchSize))
      }

    private def setAside(table: QualifiedName, letters: Seq[DeadLetter], epoch: String): Unit = {
      val sinkId = Option.unless(run.once)(run.sinkId)
      val storable =
        if (bound.table.characters.isEmpty) letters
        else
          letters.map { letter =>
            import bound.table.{storable => of}
            letter.copy(column = of(letter.column), reason = of(letter.reason), json = of(letter.json))
          }
      val storedLetters = dialect.writing(connection)(
        DeadLetterTable.insert(dialect, connection, table, sinkId, epoch.toLongOption, storable))
      Loaded.Rows(storedLetters, letters.size.toLong).check(epoch, table)
    }
  }

  final private class JdbcProgress(connection: Connection)
      extends ProgressTable(dialect, bound.trust, connection, run.sinkId)
      with SinkProgress {

    override def prepare(): Unit = alterColumns(connection)
    override def anchor(queryId: String, boundary: Boundary): Unit = anchor(run, queryId, boundary)

    override def record(commit: ProgressCommit): Unit = {
      if (!ledger.record(connection, commit.row, isUnchanged, Some(commit.added))) throw Interference.replaced(run)
      record(commit.row.queryId, commit.boundary)
    }
  }
}

private object JdbcTarget {
  val log: Logger = LoggerFactory.getLogger(classOf[JdbcTarget])
}
