package io.epochal.cdc.snapshot

import java.sql.Connection

import org.slf4j.LoggerFactory

import io.epochal.cdc.slot.TableFacts
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** Waits for transactions that others run, before rows are read. */
private[snapshot] object RunningTransactions {
  private val log = LoggerFactory.getLogger(classOf[Snapshot])

  private val CommitNanos = 2000L * 1000000L

  /** Between two lines of the log. */
  private val SayNanos = 10000L * 1000000L

  /** Milliseconds. */
  private val CommitPause = 20L

  /** Waits until the transactions that run now have ended, two seconds at most. Of one that has committed and not ended, changes may
    * be older than the slot, and no snapshot shows its rows.
    */
  def awaitCommits(connection: Connection): Unit = {
    val startNanos = System.nanoTime()
    // A snapshot lists those below the highest number that has ended.
    Sql.query(connection, "SELECT pg_current_xact_id()::text")(_.getString(1)): Unit
    val snapshot = Sql.query(connection, "SELECT pg_current_snapshot()::text")(_.getString(1)).head
    val running =
      sql"SELECT x FROM pg_snapshot_xip($snapshot::pg_snapshot) AS x WHERE pg_xact_status(x) = 'in progress'"
    while (running.query(connection)(_.getString(1)).nonEmpty && System.nanoTime() - startNanos < CommitNanos)
      Thread.sleep(CommitPause)
  }

  /** A transaction that has written a table holds this lock until others see it. */
  def awaitWriters(connection: Connection, table: TableFacts): Unit = {
    def writers(among: Option[Seq[String]]) = sql"""SELECT l.virtualtransaction FROM pg_locks l
         |WHERE l.locktype = 'relation' AND l.mode = 'RowExclusiveLock' AND l.granted
         |  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
         |  AND l.relation IN (SELECT ${table.oid}::bigint::oid UNION
         |    SELECT relid::oid FROM pg_partition_tree(${table.oid}::bigint::oid::regclass))"""
      .query(connection)(_.getString(1))
      .distinct
      .filter(writer => among.forall(_.contains(writer)))
    val first = writers(None)
    var (left, saidNanos) = (first, System.nanoTime())
    while (left.nonEmpty) {
      Thread.sleep(CommitPause)
      left = writers(Some(left))
      if (left.nonEmpty && System.nanoTime() - saidNanos > SayNanos) {
        saidNanos = System.nanoTime()
        log.warn(s"${table.name} waits for transactions that are writing to it: ${left.mkString(", ")}")
      }
    }
  }
}
