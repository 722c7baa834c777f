package io.epochal.spark.sink.jdbc.commit

import java.sql.Connection

import scala.collection.mutable

import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

import io.epochal.core.ledger.{Claim, LedgerRow}
import io.epochal.spark.sink.jdbc.connection.{Ddl, Sql}
import io.epochal.spark.sink.jdbc.row.DeadLetterTable
import io.epochal.spark.sink.jdbc.table.{AddedColumns, BoundTable, TableCheck, TargetTable}
import io.epochal.spark.sink.jdbc.transport.BulkRun
import io.epochal.spark.sink.jdbc.{Database, Failpoint, Failpoints}

/** What a run may write: its line in the ledger, with its generation, and the table that its rows go into.
  *
  * @param shape
  *   the types of the table's columns when the rows were bound to them
  */
final case class Claimed(row: LedgerRow, bound: BoundTable, shape: String) {
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

  def of(schema: StructType, run: Run): Claimed = synchronized {
    claims.getOrElseUpdate(
      run, {
        Failpoints.reach(Failpoint.BeforeClaim)
        val claimed = claim(schema, run)
        Failpoints.reach(Failpoint.AfterClaim)
        claimed
      })
  }

  private def claim(schema: StructType, run: Run): Claimed = {
    val options = database.options
    val dialect = database.dialect
    Claims.makeReady(database, schema)
    val claimed = database.transaction("the claim of the ledger") { transaction =>
      val connection = transaction.connection
      val serialized = dialect.ledger.serializeClaims(connection)
      val bound = Claims.prepare(database, schema, connection, make = !dialect.ddlCommits)
      val ledger = new LedgerTable(dialect, bound.table.name.schema, database.place)
      ledger.create(connection)
      if (!serialized) {
        ledger.createLock(connection)
        ledger.takeLock(connection)
      }
      val before = ledger.lock(connection, run.sinkId)
      val claim = Claim(
        run.sinkId,
        run.queryId,
        run.runId,
        bound.table.target,
        dialect.server(connection),
        options.onNewQuery,
        ledger.known(connection, run.sinkId, run.queryId))
      val others = ledger.others(connection, run.sinkId, claim.target)
      val row = Claim.decide(claim, before, others).fold(throw _, identity)
      ledger.claim(connection, before, row)
      val claimed = Claimed(row, bound, bound.shape)
      database.bulk.foreach(_.claim(connection, claimed.run))
      if (before.isEmpty) dialect.bulk.foreach(_.forget(connection, claimed.run))
      transaction.commit()
      claimed
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

}

private[jdbc] object Claims {
  private val log = LoggerFactory.getLogger(classOf[Claims])

  /** Makes what is missing in a transaction of its own, where a claim's would be committed by that. */
  private def makeReady(database: Database, schema: StructType): Unit =
    if (database.dialect.ddlCommits) database.transaction("making the tables ready") { transaction =>
      val bound = prepare(database, schema, transaction.connection)
      val ledger = new LedgerTable(database.dialect, bound.table.name.schema, database.place)
      ledger.create(transaction.connection)
      ledger.createLock(transaction.connection)
      transaction.commit()
    }

  /** Finds the table, or makes it if the options say so, and checks that the rows can go there; and so for bad rows.
    *
    * @param make
    *   false where everything has been made before, and making it would commit the transaction: MySQL's ALTER TABLE does,
    *   even when it is denied
    */
  def prepare(database: Database, schema: StructType, connection: Connection, make: Boolean = true): BoundTable = {
    val dialect = database.dialect
    val options = database.options
    val check = new TableCheck(dialect, options)
    def find(): Option[TargetTable] = dialect.find(connection, options.table)
    val table = find().getOrElse {
      if (!options.createTable || !make) throw check.missing(Some(connection))
      val sql = check
        .create(schema, dialect.newName(connection, options.table), dialect.declareKey(connection, _))
        .fold(throw _, identity)
      Ddl.create(connection, sql)(find().isDefined)
      find().getOrElse(throw check.missing(None))
    }
    val identified = if (make) dialect.identify(connection, table) else table
    val added = check.added(schema, identified).fold(throw _, identity)
    val bound = AddedColumns.tried(connection, dialect, identified.name, added) {
      val complete = if (added.isEmpty) identified else find().getOrElse(throw check.missing(None))
      val bound = check.bind(schema, complete).fold(throw _, identity)
      bound.copy(
        added = added,
        shape = Sql.query(connection, s"SELECT ${dialect.shapeSql(bound)}")(_.getString(1)).head)
    }
    bound.copy(deadLetters =
      options.rows.deadLetterTable.map(new DeadLetterTable(dialect, _).prepare(connection, bound.table.name)))
  }
}
