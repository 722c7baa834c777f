package io.epochal.spark.sink.jdbc

import java.sql.Connection

import scala.collection.mutable

import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

import io.epochal.core.ledger.{Claim, LedgerRow}

/** What a run may write: its line in the ledger, with its generation, and the table that its rows go into. */
final case class Claimed(row: LedgerRow, bound: BoundTable)

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
  * Spark makes all of a sink's objects anew for each micro-batch, so what a run has claimed is remembered here, in the JVM.
  * A run that was fenced finds its old generation here and so never claims again.
  */
private[jdbc] object Claims {

  private val log = LoggerFactory.getLogger("io.epochal.spark.sink.jdbc.Claims")
  private val Most = 1000

  final private case class Key(url: String, table: String, run: Run)

  private val claims: mutable.LinkedHashMap[Key, Claimed] = mutable.LinkedHashMap.empty

  def of(database: Database, schema: StructType, run: Run): Claimed = {
    val key = Key(database.options.connection.url, database.options.table.toString, run)
    synchronized(claims.get(key)).getOrElse {
      Failpoints.reach(Failpoint.BeforeClaim)
      val claimed = claim(database, schema, run)
      Failpoints.reach(Failpoint.AfterClaim)
      synchronized {
        claims.put(key, claimed): Unit
        if (claims.size > Most) claims.remove(claims.head._1): Unit
      }
      claimed
    }
  }

  /** For tests: as if this JVM had just started. */
  private[jdbc] def forget(): Unit = synchronized(claims.clear())

  private def claim(database: Database, schema: StructType, run: Run): Claimed = {
    val options = database.options
    val dialect = database.dialect
    val claimed = database.transaction("the claim of the ledger") { transaction =>
      val connection = transaction.connection
      dialect.ledger.serializeClaims(connection)
      val bound = prepare(database, schema, connection)
      val ledger = new LedgerTable(dialect, bound.table.name.schema, database.place)
      ledger.create(connection)
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
      transaction.commit()
      Claimed(row, bound)
    }
    log.info(
      "epochal-jdbc: run {} of sink '{}' claimed generation {} (last epoch {})",
      run.runId,
      run.sinkId,
      Long.box(claimed.row.generation),
      claimed.row.last.fold("none")(_.epoch.toString))
    claimed
  }

  /** Finds the table, or makes it if the options say so, and checks that the rows can go there. */
  def prepare(database: Database, schema: StructType, connection: Connection): BoundTable = {
    val dialect = database.dialect
    val options = database.options
    val check = new TableCheck(dialect, options)
    def find(): Option[TargetTable] = dialect.find(connection, options.table)
    val table = find().getOrElse {
      if (!options.createTable) throw check.missing(Some(connection))
      val sql = check.create(schema, dialect.newName(connection, options.table)).fold(throw _, identity)
      Sql.update(connection, sql): Unit
      find().getOrElse(throw check.missing(None))
    }
    check.bind(schema, dialect.identify(connection, table)).fold(throw _, identity)
  }
}
