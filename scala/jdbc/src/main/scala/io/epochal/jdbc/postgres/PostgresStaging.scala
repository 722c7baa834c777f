package io.epochal.jdbc.postgres

import java.sql.Connection

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.ContentDigest
import io.epochal.jdbc.database.{BulkCopy, BulkRun, Database, Loaded, WriteMode}
import io.epochal.jdbc.sql.Sql
import io.epochal.kit.sink.transport.{BulkMessage, Shipment, TaskAttempt}

/** Tasks COPY into unlogged tables of the sink's own, from where the committing transaction moves the rows (K6, K13).
  *
  * The registry `epochal_staging` (a logged table beside the ledger) has a line for each staging table:
  *
  * {{{
  *        open: locked by the task            finish: token, count and digest, COMMIT
  *   free ───────────────────────► taken (not committed) ───────────────────────► taken
  *    ▲                                  │ rollback                                 │
  *    └──────────────────────────────────┘              load or settle: TRUNCATE    │
  *    ▲─────────────────────────────────────────────────────────────────────────────┘
  * }}}
  *
  *   - A table is taken by one attempt at a time: its line is locked from `open` to the end of the task's transaction.
  *   - The driver moves a table only when its line has the token, the count and the digest of a message, and the server
  *     moved as many rows: a crash of the server empties unlogged tables.
  *   - Under the ledger's lock every table of the sink that is taken is either named by a message, or of an attempt that
  *     will never be: both are emptied. Lines that a straggler holds are passed over until a later epoch; the rows of one
  *     that a message names are moved all the same.
  *
  * Tables are used again, so the catalog does not grow with the epochs: as many are made as attempts run at the same time.
  */
private[postgres] object PostgresStaging extends PostgresBulk {

  override val name = "staged"

  override def claim(connection: Connection, run: BulkRun): Unit = new StagingRegistry(run).create(connection)

  override def open(connection: Connection, run: BulkRun, attempt: TaskAttempt, token: String): BulkCopy = {
    val registry = new StagingRegistry(run)
    val table = registry.take(connection).getOrElse(registry.add(connection, token))
    new BulkCopy {
      private val copy = new CopyStream(connection, registry.relation(table), run.table.incoming)
      override def write(bytes: Array[Byte], length: Int): Unit = copy.write(bytes, length)

      override def finish(digest: ContentDigest, rows: Long): String = {
        val stored = copy.finish()
        if (stored != rows) throw lost(attempt, table, stored, rows)
        registry.record(connection, table, attempt, token, digest)
        PostgresDialect.commit(connection)
        Failpoints.reach(Failpoint.TaskStaged)
        table
      }

      override def cancel(): Unit = copy.close()
    }
  }

  override def load(connection: Connection, run: BulkRun, shipment: Shipment, epoch: String): Loaded = {
    val registry = new StagingRegistry(run)
    val taken = registry.taken(connection)
    lazy val filled = registry.filled(connection)
    shipment.elsewhere.find(message => !taken.exists(holds(_, message)) && !filled.exists(holds(_, message))).foreach {
      message => throw lost(message.attempt, message.place, 0L, message.stored)
    }
    val loaded = run.table.mode match {
      case WriteMode.Append         => append(connection, run, registry, shipment)
      case upsert: WriteMode.Upsert => merge(connection, run, registry, shipment, upsert)
    }
    Failpoints.reach(Failpoint.BeforeCleanup)
    registry.free(connection, taken)
    loaded
  }

  private def holds(table: StagedTable, message: BulkMessage): Boolean =
    table.name == message.place && table.token == message.token && table.digest == message.digest

  /** One table after the other: how many rows came from each is compared with its message. */
  private def append(connection: Connection, run: BulkRun, registry: StagingRegistry, shipment: Shipment): Loaded = {
    val target = PostgresDialect.quote(run.table.table.name)
    val columns = run.table.columnNames.map(PostgresDialect.quote).mkString(", ")
    val moved = shipment.elsewhere.map { message =>
      val from = registry.relation(message.place)
      val stored = SearchPath.ofSession(connection)(
        Sql.update(connection, s"INSERT INTO $target ($columns) SELECT $columns FROM $from"))
      if (stored != message.stored) complete(connection, registry, message)
      stored
    }.sum
    val inline = shipment.rows.rows
    val copied = if (inline == 0) 0L else PostgresLoad.append(connection, run.table, shipment.rows)
    Loaded.Rows(moved + copied, shipment.stored)
  }

  /** Where the server stored as many rows as were sent, all of them were there. */
  private def merge(
      connection: Connection,
      run: BulkRun,
      registry: StagingRegistry,
      shipment: Shipment,
      upsert: WriteMode.Upsert
  ): Loaded = {
    val columns = run.table.incoming
    val inline = Option.when(shipment.rows.rows > 0) {
      val incoming = PostgresIncoming.temporary(connection, run.table)
      PostgresLoad.copy(connection, incoming, columns, shipment.rows): Unit
      incoming
    }
    val list = columns.map(PostgresDialect.quote).mkString(", ")
    val sources =
      (inline ++ shipment.elsewhere.map(m => registry.relation(m.place))).map(from => s"SELECT $list FROM $from")
    val loaded =
      PostgresMerge(connection, run.table, upsert, s"(${sources.mkString(" UNION ALL ")})", shipment.stored)
    loaded match {
      case Loaded.Rows(stored, _) if stored == shipment.stored => ()
      case _ => shipment.elsewhere.foreach(complete(connection, registry, _))
    }
    loaded
  }

  /** Fails unless the table has all rows of the attempt. */
  private def complete(connection: Connection, registry: StagingRegistry, message: BulkMessage): Unit = {
    val found = Sql.query(connection, s"SELECT count(*) FROM ${registry.relation(message.place)}")(_.getLong(1)).head
    if (found != message.stored) throw lost(message.attempt, message.place, found, message.stored)
  }

  override def settle(database: Database, run: BulkRun): Unit =
    database.inTransaction("the removal of what is left in staging") { transaction =>
      val connection = transaction.connection
      val registry = new StagingRegistry(run)
      if (registry.isCurrent(connection)) {
        val taken = registry.taken(connection)
        if (taken.nonEmpty) Failpoints.reach(Failpoint.BeforeCleanup)
        registry.free(connection, taken)
        registry.dropOthers(connection)
      }
      transaction.commit()
    }

  private def lost(attempt: TaskAttempt, place: String, found: Long, sent: Long): EpochalException =
    Conditions.StagingLost(
      "partition" -> attempt.partition,
      "epoch" -> attempt.epoch,
      "found" -> found,
      "sent" -> sent,
      "place" -> place)
}
