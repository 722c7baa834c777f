package io.epochal.jdbc.commit

import java.sql.{Connection, SQLException}

import io.epochal.core.error.{Condition, Conditions}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.{Boundary, LedgerRow, ProgressCommit, ServerIdentity}
import io.epochal.jdbc.database.{BulkRun, Database, Loaded, Transaction}
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
  */
final private[jdbc] class JdbcTarget(database: Database, run: BulkRun) extends SinkTarget {

  private val dialect = database.dialect
  private val bound = run.table
  private val batchSize = database.options.batchSize
  private val ledger = new LedgerTable(dialect, bound.trust, database.place)
  private lazy val isUnchanged = ledger.isUnchanged(run)

  override val name: String = bound.table.name.toString
  override def place: String = database.place
  override val rowFormat: RowFormat = dialect.rowFormat(bound)

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
      if (!dialect.ledger.serializeClaims(connection)) ledger.takeLock(connection)
      progress.create()
      progress.exists: Unit
      transaction.commit()
    }
  }

  override def failed(reason: String): Unit =
    database.attempt("noting that the run has failed", Some(run.writer)) { transaction =>
      ledger.progress(transaction.connection, run.sinkId).fail(run, reason)
      transaction.commit()
    }

  private lazy val preparedLoad = if (bound.added.isEmpty) dialect.preparedLoad(bound) else None

  /** Whether an epoch was committed. Before, an epoch may be a replay, which must not depend on the table. */
  @volatile private var hasLoaded = false

  /** How the last epoch's rows were loaded. */
  @volatile private var loadedBy = Map.empty[String, String]

  override def describe(shipment: Shipment, tasks: Int): Map[String, String] =
    Transports.describe(database, shipment, tasks) ++ loadedBy

  override def attempt[A](step: String)(body: SinkTransaction => A): A =
    database.attempt(
      step,
      Option.unless(run.once)(run.writer),
      Interference.diagnose(
        database,
        run,
        database.bulk.toSeq.flatMap(_.tables) ++ (if (progressIsReady) ProgressTable.Names else Nil))
    )(transaction => body(new JdbcTransaction(transaction)))

  override def committed(shipment: Shipment, outcome: EpochOutcome): Unit =
    if (shipment.elsewhere.nonEmpty) database.bulk.foreach { bulk =>
      outcome match {
        case EpochOutcome.Applied(_, _) => bulk.complete(database, run, shipment.elsewhere)
        case EpochOutcome.Repeated(_)   => bulk.settle(database, run)
      }
    }

  override def abandoned(): Unit = Leftovers.settle(database, run)

  private def addColumns(connection: Connection): Unit =
    new AddedColumns(connection, dialect).add(database.options.table, bound.table.name, bound.added)

  final private class JdbcTransaction(transaction: Transaction) extends SinkTransaction {
    private def connection: Connection = transaction.connection

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
      load(shipment, whole, epoch.toString)
      record(next)
      if (shipment.elsewhere.nonEmpty) database.bulk.foreach(_.decide(connection, run, epoch, shipment.elsewhere))
    }

    override def takeOver(before: LedgerRow, next: LedgerRow): Unit =
      ledger.takeOver(connection, before, next.queryId, bound.table.target)

    override def adopt(next: LedgerRow): Unit = {
      addColumns(connection)
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
    }

    /** Loads an epoch's rows into the table and checks that all of them are stored.
      *
      * @param whole
      *   the epoch replaces the table's contents
      */
    private def load(shipment: Shipment, whole: Boolean, epoch: String): Unit = {
      if (bound.added.nonEmpty) addColumns(connection)
      if (whole) clear(epoch)
      loadedBy = Map.empty
      if (shipment.stored > 0) {
        val result = loadRows(shipment, epoch)
        result.check(epoch, bound.table.name, database.options.keyColumns)
        loadedBy = result.by
      }
      bound.deadLetters.foreach(setAside(_, shipment.deadLetters, epoch))
      Failpoints.reach(Failpoint.AfterLoad)
    }

    private def loadRows(shipment: Shipment, epoch: String): Loaded =
      database.bulk.filter(_ => shipment.elsewhere.nonEmpty) match {
        case Some(bulk) => bulk.load(connection, run, shipment, epoch)
        case None =>
          transaction
            .loadPrepared(shipment.rows)
            .getOrElse(dialect.load(connection, bound, shipment.rows, batchSize))
      }

    /** Deletes all rows and checks, within this transaction, that none remain: DELETE's count includes rows that a trigger or rule
      * kept. Rows that others commit in the meantime are deleted as well.
      */
    private def clear(epoch: String): Unit = {
      val table = dialect.quote(bound.table.name)
      def isCleared: Boolean = {
        dialect.writing(connection)(Sql.run(connection, s"DELETE FROM $table"))
        Sql.isEmpty(connection, table)
      }
      if (!Iterator.fill(JdbcTarget.Clearings)(()).exists(_ => isCleared))
        throw Conditions.RowsDropped(
          "epoch" -> epoch,
          "table" -> bound.table.name,
          "found" -> "rows are left after all were deleted")
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

    override def prepare(): Unit = addColumns(connection)
    override def anchor(queryId: String, boundary: Boundary): Unit = anchor(run, queryId, boundary)

    override def record(commit: ProgressCommit): Unit = {
      if (!ledger.record(connection, commit.row, isUnchanged, Some(commit.added))) throw Interference.replaced(run)
      record(commit.row.queryId, commit.boundary)
    }
  }
}

private[commit] object JdbcTarget {

  /** Attempts to empty the table while other transactions add rows. */
  private val Clearings = 3
}
