package io.epochal.cdc.slot

import java.sql.{Connection, SQLException}

import org.postgresql.PGConnection
import org.slf4j.LoggerFactory

import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** Creates slots. The server first waits for the end of all running transactions, in any of its databases. PostgreSQL 19 may first have
  * to raise its `effective_wal_level`, which waits for its other processes.
  */
private[cdc] object SlotCreation {
  private val log = LoggerFactory.getLogger("io.epochal.cdc.SlotCreation")

  /** Milliseconds after which the transactions are reported, and until the next report. */
  private val Patience = 2000L

  private val ReportsPerLine = 15

  /** Creates a slot. Lasts as long as the server's process that waits.
    *
    * @param report
    *   takes a text about the transactions that it waits for, every two seconds
    * @throws InterruptedException
    *   if this thread is interrupted; there is no slot then
    */
  def create(
      server: CaptureServer,
      connection: Connection,
      name: String,
      facts: Server)(report: String => Unit): Unit = {
    val process = connection.unwrap(classOf[PGConnection]).getBackendPID
    def reports(): Unit = Iterator.from(0).foreach { number =>
      Thread.sleep(Patience)
      val (isAlive, transactions) =
        server.look(connection => (lives(connection, process), running(connection, process)))
      // The driver does not notice it.
      if (!isAlive) connection.abort(_.run())
      val text =
        if (transactions.isEmpty && facts.raisesWalLevel) s"The slot $name waits until effective_wal_level is logical."
        else s"The slot $name waits for the end of transactions: $transactions"
      report(text)
      if (number % ReportsPerLine == 0) log.warn(s"${server.place}: $text")
    }
    val reporter = new DaemonThreads("epochal-cdc-slot").newThread { () =>
      try reports()
      // The creation itself meets the loss of the server, too.
      catch { case _: InterruptedException | _: SQLException => () }
    }
    reporter.start()
    val slot =
      sql"SELECT pg_catalog.pg_create_logical_replication_slot($name, 'pgoutput'${Sql.raw(facts.failoverArgument)})"
    try slot.query(connection)(_.getString(1)): Unit
    finally reporter.interrupt()
  }

  private def lives(connection: Connection, process: Int): Boolean =
    sql"SELECT count(*) FROM pg_stat_activity WHERE pid = $process".query(connection)(_.getInt(1)).contains(1)

  /** The oldest transactions that may keep a process waiting, with their ages. */
  private def running(connection: Connection, process: Int): String = {
    val transactions =
      sql"""SELECT 'process ' || pid AS holder, extract(epoch FROM clock_timestamp() - xact_start)::bigint AS seconds
           |FROM pg_stat_activity
           |WHERE pid <> $process AND (backend_xid IS NOT NULL OR pid = ANY(pg_blocking_pids($process)))
           |UNION ALL SELECT format('PREPARE TRANSACTION %L', gid), extract(epoch FROM clock_timestamp() - prepared)::bigint
           |FROM pg_prepared_xacts ORDER BY seconds DESC NULLS LAST LIMIT 10""".query(connection)(rows =>
        rows.getString("holder") -> Sql.long(rows, "seconds"))
    transactions.map { case (holder, seconds) => holder + seconds.fold("")(age => s" ($age s)") }.mkString(", ")
  }
}
