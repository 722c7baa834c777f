package io.epochal.jdbc.commit

import java.sql.Connection

import scala.util.Using

import io.epochal.core.error.{Condition, Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.{Boundary, LedgerRow, Progress, ProgressCommit, ServerIdentity}
import io.epochal.jdbc.database.{BulkRun, Database, Loaded, Transaction}
import io.epochal.jdbc.option.{QualifiedName, TransportChoice}
import io.epochal.jdbc.sql.Sql
import io.epochal.jdbc.table.DeadLetterTable
import io.epochal.jdbc.transport.{Leftovers, Transports}
import io.epochal.kit.sink.flush.RowFlush
import io.epochal.kit.sink.row.{DeadLetter, RowFormat}
import io.epochal.kit.sink.transport.{DriverTransport, RowFiles, Shipment, Transport}
import io.epochal.kit.sink.{EpochOutcome, SinkProgress, SinkTarget, SinkTransaction}

/** The target table of a run or batch write, with the query's columns bound to it.
  *
  * Rows that tasks brought to the database themselves are moved by the committing transaction, or recorded with the ledger row
  * and completed after the COMMIT ([[io.epochal.jdbc.database.BulkLoad]]).
  */
final private[jdbc] class JdbcTarget(database: Database, run: BulkRun) extends SinkTarget {

  private val dialect = database.dialect
  private val bound = run.table
  private val ledger = new LedgerTable(dialect, bound.trust, database.place)
  private val progressTable = new ProgressTable(dialect, bound.trust)

  override def name: String = bound.table.name.toString
  override def place: String = database.place
  override def rowFormat: RowFormat = dialect.rowFormat(bound)

  override def transport(tasks: Int, limit: Long, files: => Option[RowFiles]): Transport = {
    def spillFiles = if (database.options.transport == TransportChoice.Auto) files else None
    database.bulk match {
      case None       => DriverTransport.shared(tasks, limit, spillFiles)
      case Some(bulk) => Transports.bulk(database, bulk, run, tasks, limit)
    }
  }

  @volatile private var progressIsReady = false

  override def flushes: Boolean = dialect.abilities.flushes

  override def flush(queryId: String): RowFlush = {
    if (!progressIsReady) makeProgressTables()
    progressIsReady = true
    val options = database.options
    JdbcFlush(options.copy(connection = options.connection.resolved), run, queryId)
  }

  private def makeProgressTables(): Unit = database.inTransaction("making the tables of progress ready") {
    transaction =>
      val connection = transaction.connection
      if (!progressTable.exists(connection)) {
        if (!dialect.ledger.serializeClaims(connection)) ledger.takeLock(connection)
        progressTable.create(connection)
        progressTable.exists(connection): Unit
        transaction.commit()
      }
  }

  override def failed(reason: String): Unit =
    database.inTransaction("noting that the run has failed", Some(run.writer)) { transaction =>
      progressTable.fail(transaction.connection, run, reason)
      transaction.commit()
    }

  override def describe(shipment: Shipment, tasks: Int): Map[String, String] =
    Transports.describe(database, shipment, tasks)

  override def inTransaction[A](step: String)(body: SinkTransaction => A): A =
    database.inTransaction(step, Option.unless(run.once)(run.writer))(open => body(new Committing(open)))

  override def losesConnection(error: Throwable): Boolean = database.losesConnection(error)

  override def couldNotAsk(error: EpochalException): Boolean = JdbcTarget.connectionErrors(error.condition)

  override def committed(shipment: Shipment, outcome: EpochOutcome): Unit =
    if (shipment.elsewhere.nonEmpty) database.bulk.foreach { bulk =>
      outcome match {
        case EpochOutcome.Applied(_, _) => bulk.complete(database, run, shipment.elsewhere)
        case EpochOutcome.Repeated(_)   => bulk.settle(database, run)
      }
    }

  override def abandoned(): Unit = Leftovers.settle(database, run)

  final private class Committing(transaction: Transaction) extends SinkTransaction {
    private def connection: Connection = transaction.connection

    override def id: Option[String] = transaction.id
    override def server: ServerIdentity = dialect.server(connection)
    override def isCommitted(transaction: String): Option[Boolean] = dialect.isCommitted(connection, transaction)
    override def ledgerRow(): Option[LedgerRow] = ledger.lock(connection, run.sinkId)

    override def apply(shipment: Shipment, whole: Boolean, next: LedgerRow): Unit = {
      val epoch = next.last.get.epoch
      new Loading(database, run, whole).load(connection, shipment, epoch.toString)
      Failpoints.reach(Failpoint.AfterLoad)
      record(next)
      database.bulk.foreach(_.decide(connection, run, epoch, shipment.elsewhere))
    }

    override def takeOver(before: LedgerRow, next: LedgerRow): Unit =
      ledger.takeOver(connection, before, next.queryId, bound.table.target)

    override def adopt(next: LedgerRow): Unit = {
      AddedColumns.add(connection, dialect, database.options.table, bound)
      record(next)
    }

    private def record(next: LedgerRow): Unit =
      if (!ledger.record(connection, next, bound, run.shape)) throw JdbcTarget.replaced(run)

    override def applyBatch(shipment: Shipment, whole: Boolean): Unit = {
      new Loading(database, run, whole).load(connection, shipment, Condition.BatchWrite)
      if (!isUnchanged) throw JdbcTarget.replaced(run)
      Failpoints.reach(Failpoint.AfterLoad)
    }

    /** Whether the table and its column types are still those that the rows were encoded for. The load holds a lock on the table,
      * so the answer holds until the COMMIT.
      */
    private def isUnchanged: Boolean = {
      val catalog = dialect.catalog
      bound.table.target.oid.forall(catalog.identity(connection, bound.table.name).contains) &&
      catalog.shape(connection, bound) == run.shape
    }

    override lazy val progress: Option[SinkProgress] =
      Option.when(dialect.abilities.flushes && (progressIsReady || progressTable.exists(connection)))(
        new Progressing(connection))

    override def commit(): Unit = transaction.commit()
  }

  final private class Progressing(connection: Connection) extends SinkProgress {
    override def lock(): Unit = progressTable.lock(connection, run.sinkId)
    override def read(queryId: String): Progress = progressTable.read(connection, run.sinkId, queryId)

    override def prepare(): Unit = AddedColumns.add(connection, dialect, database.options.table, bound)

    override def anchor(queryId: String, boundary: Boundary): Unit =
      progressTable.anchor(connection, run, queryId, boundary)

    override def note(queryId: String, epoch: Long, offsetsHash: String): Unit =
      progressTable.note(connection, run.sinkId, queryId, epoch, offsetsHash)

    override def record(commit: ProgressCommit): Unit = {
      if (!ledger.record(connection, commit.row, bound, run.shape, Some(commit.added))) throw JdbcTarget.replaced(run)
      progressTable.record(connection, run.sinkId, commit.row.queryId, commit.boundary)
    }

    override def end(queryId: String): Unit = progressTable.end(connection, run.sinkId, queryId)
  }
}

private[commit] object JdbcTarget {

  /** Refusal: the table was replaced or altered since the rows were encoded. */
  def replaced(run: BulkRun): EpochalException = {
    val target = run.table.table.target
    Conditions.TargetChanged(
      "sinkId" -> run.sinkId,
      "known" -> target,
      "accept" -> target.id,
      "table" -> "a table of that name that was recreated, got a foreign partition, or has columns of other types"
    )
  }

  /** Errors of the connection and the database. */
  private val connectionErrors =
    Set(
      Conditions.DatabaseError,
      Conditions.DatabaseUnreachable,
      Conditions.LoginRefused,
      Conditions.TooManyConnections)
}

/** Loads an epoch's rows into the table and checks that all of them are stored.
  *
  * @param whole
  *   the epoch replaces the table's contents
  */
final private[jdbc] class Loading(database: Database, run: BulkRun, whole: Boolean) {

  private val bound = run.table
  private val options = database.options
  private val dialect = database.dialect
  private val sinkId = Option.unless(run.once)(run.sinkId)

  def load(connection: Connection, shipment: Shipment, epoch: String): Unit = {
    AddedColumns.add(connection, dialect, options.table, bound)
    if (whole) clear(connection, epoch)
    if (shipment.stored > 0)
      loadShipment(connection, shipment, epoch) match {
        case loaded: Loaded.Rows => loaded.check(epoch, bound.table.name)
        case Loaded.DuplicateKeys(rows) =>
          throw Conditions.DuplicateKeys(
            "epoch" -> epoch,
            "rows" -> rows,
            "columns" -> options.keyColumns.mkString(", "))
      }
    bound.deadLetters.foreach(table => setAside(connection, table, shipment.deadLetters, epoch))
  }

  /** Deletes all rows and checks, within this transaction, that none remain: DELETE's count includes rows that a trigger or rule
    * kept. Rows that others commit in the meantime are deleted as well.
    */
  private def clear(connection: Connection, epoch: String): Unit = {
    val table = bound.table.name
    def isCleared: Boolean = {
      dialect.writing(connection)(Sql.run(connection, s"DELETE FROM ${dialect.quote(table)}"))
      isEmpty(connection, dialect.quote(table))
    }
    if (!Iterator.fill(Loading.Clearings)(()).exists(_ => isCleared))
      throw Conditions.RowsDropped(
        "epoch" -> epoch,
        "table" -> table,
        "found" -> "rows are left after all were deleted")
  }

  /** Whether the transaction sees no row in the table. Without LIMIT, whose syntax differs between databases. */
  private def isEmpty(connection: Connection, table: String): Boolean =
    Using.resource(connection.createStatement()) { statement =>
      statement.setMaxRows(1)
      Using.resource(statement.executeQuery(s"SELECT 1 FROM $table"))(rows => !rows.next())
    }

  private def loadShipment(connection: Connection, shipment: Shipment, epoch: String): Loaded =
    database.bulk.filter(_ => shipment.elsewhere.nonEmpty) match {
      case Some(bulk) => bulk.load(connection, run, shipment, epoch)
      case None       => dialect.load(connection, bound, shipment.rows, options.batchSize)
    }

  private def setAside(connection: Connection, table: QualifiedName, letters: Seq[DeadLetter], epoch: String): Unit = {
    val stored = dialect.writing(connection)(
      DeadLetterTable.insert(dialect, connection, table, sinkId, epoch.toLongOption, letters))
    Loaded.Rows(stored, letters.size.toLong).check(epoch, table)
  }
}

private[jdbc] object Loading {

  /** Attempts to empty the table while other transactions add rows. */
  private val Clearings = 3
}
