package io.epochal.jdbc.commit

import java.sql.{Connection, SQLException}
import java.util.Locale

import scala.collection.mutable

import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.{Claim, LedgerRow}
import io.epochal.jdbc.database.{BoundTable, BulkRun, Database, Failpoint, Failpoints, TargetTable, Trust}
import io.epochal.jdbc.sql.{Ddl, Sql}
import io.epochal.jdbc.table.{AddedColumns, DeadLetterTable, TableCheck}
import io.epochal.jdbc.transport.RowFiles

/** What a run may write: its line in the ledger, with its generation, and the table that its rows go into.
  *
  * @param shape
  *   the types of the table's columns when the rows were bound to them
  * @param files
  *   where its tasks may put rows that are too many for their messages
  */
final case class Claimed(row: LedgerRow, bound: BoundTable, shape: String, files: Option[RowFiles] = None) {
  def run: BulkRun = BulkRun(row.sinkId, row.generation, row.runId, bound, shape, once = false)
}

/** Who claims.
  *
  * @param queryId
  *   stable over restarts
  * @param runId
  *   differs from start to start
  */
final case class Run(sinkId: String, queryId: String, runId: String)

/** Claims the ledger once for every run (K5).
  *
  * Spark makes a sink's write objects anew for each micro-batch, and its table once for each start: so what a run has
  * claimed is remembered here, with the table. A run that was fenced finds its old generation and never claims again.
  */
final private[jdbc] class Claims(database: Database) {
  import Claims.log

  private val claims = mutable.Map.empty[Run, Claimed]

  def of(schema: StructType, run: Run, files: => Option[RowFiles]): Claimed = synchronized {
    claims.getOrElseUpdate(
      run, {
        Failpoints.reach(Failpoint.BeforeClaim)
        val claimed = claim(schema, run)
        Failpoints.reach(Failpoint.AfterClaim)
        val mine = files
        mine.foreach(_.removeOthers())
        claimed.copy(files = mine)
      })
  }

  private def claim(schema: StructType, run: Run): Claimed = {
    val dialect = database.dialect
    Claims.makeReady(database, schema)
    var watch = Option.empty[ClaimWatch]
    val claimed =
      try
        database.transaction("the claim of the ledger") { transaction =>
          val connection = transaction.connection
          val there = dialect.find(connection, database.options.table)
          val name = there.fold(dialect.newName(connection, database.options.table))(_.name)
          val ledger = new LedgerTable(dialect, Trust(name, database.options.trustedOwners), database.place)
          val watching = new ClaimWatch(database, ledger, name.schema, run)
          watch = Some(watching)
          val claimed = watching.over(connection)(claim(schema, run, connection, ledger, made = there.isEmpty))
          transaction.commit()
          claimed
        }
      catch {
        case error: EpochalException if error.condition == Conditions.DatabaseError =>
          throw watch
            .flatMap(_.refusal)
            .orElse(watch.filter(_.blockers.nonEmpty).map(blocked(run, _, error)))
            .getOrElse(error)
      }
    dialect.bulk
      .filter(bulk => bulk.outlastsItsRun || database.bulk.contains(bulk))
      .foreach(_.settle(database, claimed.run))
    log.info(
      "epochal-jdbc: run {} of sink '{}' claimed generation {} (last epoch {})",
      run.runId,
      run.sinkId,
      Long.box(claimed.row.generation),
      claimed.row.last.fold("none")(_.epoch.toString))
    claimed
  }

  /** Locks the sink's own row first, and binds the table: both can take as long as somebody else's transaction. Only then it
    * takes the lock that other sinks' claims need too, and waits for nothing while it holds it (K15).
    */
  private def claim(
      schema: StructType,
      run: Run,
      connection: Connection,
      ledger: LedgerTable,
      made: Boolean): Claimed = {
    val dialect = database.dialect
    val mine = if (ledger.exists(connection)) ledger.lock(connection, run.sinkId) else None
    val bound = Claims.prepare(database, schema, connection, make = !dialect.ddlCommits) {
      if (!dialect.ledger.serializeClaims(connection)) {
        ledger.create(connection)
        ledger.createLock(connection)
        ledger.takeLock(connection)
      }
    }
    ledger.create(connection)
    if (mine.isEmpty && ledger.owner(connection, run.sinkId).isDefined) throw Claims.overtaken
    // Where making the table has committed the transaction, the lock on the row is gone.
    val before = if (made && mine.isDefined) ledger.lock(connection, run.sinkId) else mine
    val claim = Claim(
      run.sinkId,
      run.queryId,
      run.runId,
      bound.table.target,
      dialect.server(connection),
      database.options.onNewQuery,
      ledger.known(connection, run.sinkId, run.queryId))
    val others = ledger.others(connection, run.sinkId, claim.target)
    val row = Claim.decide(claim, before, others).fold(throw _, identity)
    ledger.claim(connection, before, row)
    val claimed = Claimed(row, bound, bound.shape)
    database.bulk.foreach(_.claim(connection, claimed.run))
    if (before.isEmpty) dialect.bulk.foreach(_.forget(connection, claimed.run))
    claimed
  }

  private def blocked(run: Run, watch: ClaimWatch, error: EpochalException): EpochalException =
    Conditions.SinkBlocked.because(error)(
      "sinkId" -> run.sinkId,
      "url" -> database.place,
      "waited" -> database.options.lockTimeout.toString.stripPrefix("PT").toLowerCase(Locale.ROOT),
      "blockers" -> watch.blockers.map(_.description).mkString("; "))
}

private[jdbc] object Claims {
  private val log = LoggerFactory.getLogger(classOf[Claims])

  /** Makes what is missing in a transaction of its own, where a claim's would be committed by that. */
  private def makeReady(database: Database, schema: StructType): Unit =
    if (database.dialect.ddlCommits) database.transaction("making the tables ready") { transaction =>
      val bound = prepare(database, schema, transaction.connection)(())
      val ledger = new LedgerTable(database.dialect, bound.trust, database.place)
      ledger.create(transaction.connection)
      ledger.createLock(transaction.connection)
      transaction.commit()
    }

  /** Another claim of the sink was first: this one begins again, since it has locked nothing. */
  private def overtaken: SQLException = new SQLException("another claim of the sink was first", "40001")

  /** Finds the table, or makes it if the options say so, and checks that the rows can go there; and so for bad rows.
    *
    * @param make
    *   false where everything has been made before, and making it would commit the transaction: MySQL's ALTER TABLE does,
    *   even when it is denied
    * @param serialize
    *   lets one at a time go on. Before it, what can wait for others' transactions is done; after it, what must not be made
    *   twice
    */
  def prepare(database: Database, schema: StructType, connection: Connection, make: Boolean = true)(
      serialize: => Unit): BoundTable = {
    val dialect = database.dialect
    val options = database.options
    val check = new TableCheck(dialect, options)
    def find(): Option[TargetTable] = dialect.find(connection, options.table)
    def bind(table: TargetTable): BoundTable = {
      val identified = if (make) dialect.identify(connection, table) else table
      val added = check.added(schema, identified).fold(throw _, identity)
      AddedColumns.tried(connection, dialect, identified.name, added) {
        val complete = if (added.isEmpty) identified else find().getOrElse(throw check.missing(None))
        val bound = check.bind(schema, complete).fold(throw _, identity)
        bound.copy(
          added = added,
          shape = Sql.query(connection, s"SELECT ${dialect.shapeSql(bound)}")(_.getString(1)).head)
      }
    }
    val there = find().map(bind)
    serialize
    val bound = there.getOrElse {
      if (find().isDefined) throw overtaken
      if (!options.createTable || !make) throw check.missing(Some(connection))
      val sql = check
        .create(schema, dialect.newName(connection, options.table), dialect.declareKey(connection, _))
        .fold(throw _, identity)
      Ddl.create(connection, sql)(find().isDefined)
      bind(find().getOrElse(throw check.missing(None)))
    }
    val trusting = bound.copy(trustedOwners = options.trustedOwners)
    trusting.copy(deadLetters =
      options.rows.deadLetterTable.map(new DeadLetterTable(dialect, _).prepare(connection, trusting.trust)))
  }
}
