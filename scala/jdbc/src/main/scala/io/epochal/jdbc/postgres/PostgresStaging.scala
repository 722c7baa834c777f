package io.epochal.jdbc.postgres

import java.sql.{Connection, SQLException}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.hash.Sha256
import io.epochal.core.ledger.ContentDigest
import io.epochal.jdbc.commit.KeptTables
import io.epochal.jdbc.database.{BulkCopy, BulkRun, Database, Loaded, WriteMode}
import io.epochal.jdbc.sql.Sql
import io.epochal.jdbc.sql.SqlText._
import io.epochal.kit.sink.BatchCommit
import io.epochal.kit.sink.transport.{BulkMessage, Shipment, TaskAttempt}

/** Tasks COPY into the sink's own unlogged tables, from which the committing transaction moves the rows (K6, K13).
  *
  * The registry `epochal_staging` (a logged table beside the ledger) has a row for each staging table:
  *
  * {{{
  *        open: locked by the task            finish: token, count and digest, COMMIT
  *   free ───────────────────────► taken (not committed) ───────────────────────► taken
  *    ▲                                  │ rollback                                 │
  *    └──────────────────────────────────┘              load or settle: TRUNCATE    │
  *    ▲─────────────────────────────────────────────────────────────────────────────┘
  * }}}
  *
  *   - A table is taken by one attempt at a time: its row is locked from `open` to the end of the task's transaction.
  *   - The driver moves a table only if its row has the token, count and digest of a message, and the server
  *     moved as many rows: a crash of the server empties unlogged tables.
  *   - Under the ledger's lock, each of the sink's taken tables either belongs to a message, or to an attempt that never will have
  *     one: both are emptied. Rows locked by a straggler are skipped until a later epoch; staged rows that belong to a message
  *     are moved all the same.
  *
  * Tables are reused, so the catalog does not grow with the epochs: there are as many as attempts ran at the same time.
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

  /** Moves one table after the other, and compares the number of rows of each with its message. */
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

  /** If the server stored as many rows as were sent, no staged row was missing. */
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

  /** Fails unless the table contains all rows of the attempt. */
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

/** A staging table filled by an attempt.
  *
  * @param once
  *   of a batch write: the table will not be reused
  */
final private[postgres] case class StagedTable(name: String, token: String, digest: ContentDigest, once: Boolean)

/** One sink's rows of the table `epochal_staging`, and its staging tables; see [[PostgresStaging]]. All methods run in the caller's
  * transaction.
  */
final private[postgres] class StagingRegistry(run: BulkRun) extends KeptTables(PostgresDialect, run.table.trust) {
  private val Name = "epochal_staging"
  private val registry = quoted(Name)
  private val sinkId = run.sinkId

  /** Hash of the columns that staging tables must have: when it changes, new tables are needed. */
  private lazy val layout = Sha256.hex((run.shape +: run.table.incoming).mkString("\n"), 8)

  /** SQL for a staging table. */
  def relation(table: String): String = words.table(qualified(table))

  def create(connection: Connection): Unit =
    if (!exists(connection, Name))
      sql"""CREATE TABLE $registry (name text PRIMARY KEY, sink_id text NOT NULL, layout text NOT NULL,
         |token text, generation bigint, epoch text, partition integer, attempt bigint, rows bigint, digest text,
         |taken_at timestamp with time zone) WITH (fillfactor = 50)""".run(connection)

  /** SQL condition: the row's table exists, has a name as [[add]] generates them, was created by this role, and is unaltered
    * (K19), since others may be able to write registry rows. Roles change (short-lived passwords often come with new names),
    * and another role's table is never filled, emptied or dropped.
    */
  private val mine =
    sql"""name ~ '^epochal_staging_[0-9a-f]{24}$$' AND EXISTS (SELECT FROM pg_class AS c
       |WHERE c.oid = to_regclass(format('%I.%I', ${trust.target.schema}::text, name))
       |AND c.relowner = (SELECT oid FROM pg_roles WHERE rolname = current_user)
       |AND c.relkind = 'r' AND NOT c.relhastriggers AND NOT c.relhasrules AND NOT c.relhassubclass)"""

  /** A free table, its row locked until the transaction ends. */
  def take(connection: Connection): Option[String] =
    sql"""SELECT name FROM $registry WHERE sink_id = $sinkId AND layout = $layout AND token IS NULL AND $mine
       |LIMIT 1 FOR UPDATE SKIP LOCKED""".query(connection)(_.getString(1)).headOption

  /** A new table, invisible to others until the transaction ends. */
  def add(connection: Connection, token: String): String = {
    val name = s"epochal_staging_${token.replace("-", "").take(24)}"
    Sql.run(
      connection,
      text"""CREATE UNLOGGED TABLE ${relation(name)} WITH (autovacuum_enabled = false) AS
         |${PostgresIncoming.like(run.table)} WITH NO DATA"""
    )
    sql"INSERT INTO $registry (name, sink_id, layout) VALUES ($name, $sinkId, $layout)".run(connection)
    name
  }

  /** Records which attempt has filled a table. */
  def record(
      connection: Connection,
      table: String,
      attempt: TaskAttempt,
      token: String,
      digest: ContentDigest): Unit = {
    val changed =
      sql"""UPDATE $registry SET token = $token, generation = ${run.generation}, epoch = ${attempt.epoch},
         |partition = ${attempt.partition}, attempt = ${attempt.taskId}, rows = ${digest.rows}, digest = ${digest.hex},
         |taken_at = now() WHERE name = $table""".update(connection)
    if (changed != 1L) throw new IllegalStateException(s"the line of $table is gone from $Name")
  }

  /** The sink's filled tables, their rows locked; rows locked by other sessions are skipped. An attempt that looks for a free table
    * while another attempt is being recorded also holds that one's row, until its own end: tables missing here may still be
    * [[filled]].
    */
  def taken(connection: Connection): Seq[StagedTable] = staged(connection, sql"FOR UPDATE SKIP LOCKED")

  /** The sink's filled tables, including those whose rows other sessions have locked. */
  def filled(connection: Connection): Seq[StagedTable] = staged(connection, sql"")

  private def staged(connection: Connection, locks: Sql): Seq[StagedTable] = {
    val ofBatch = sql"starts_with(sink_id, ${BatchCommit.IdPrefix})"
    sql"""SELECT name, token, rows, digest, $ofBatch FROM $registry
       |WHERE token IS NOT NULL AND (sink_id = $sinkId OR $ofBatch AND taken_at < now() - interval '1 day')
       |AND $mine $locks""".query(connection)(rows =>
      StagedTable(
        rows.getString(1),
        rows.getString(2),
        ContentDigest.parse(rows.getLong(3), rows.getString(4)),
        rows.getBoolean(5)))
  }

  /** Empties tables for reuse. A table that another session reads (a backup) is left until a later epoch: no message contains its
    * token any more.
    */
  def free(connection: Connection, tables: Seq[StagedTable]): Unit = {
    val (gone, kept) = tables.filter(table => tryLock(connection, table.name)).partition(_.once)
    if (gone.nonEmpty) drop(connection, gone.map(_.name))
    if (kept.nonEmpty) {
      Sql.run(connection, s"TRUNCATE ${kept.map(table => relation(table.name)).mkString(", ")}")
      sql"""UPDATE $registry SET token = NULL, generation = NULL, epoch = NULL, partition = NULL, attempt = NULL,
         |rows = NULL, digest = NULL, taken_at = NULL WHERE name IN ${Sql.list(kept.map(_.name))}""".run(connection)
    }
  }

  /** Locks a table, unless another session holds a lock on it. */
  private def tryLock(connection: Connection, table: String): Boolean = {
    val savepoint = connection.setSavepoint()
    try {
      Sql.run(connection, s"LOCK TABLE ${relation(table)} IN ACCESS EXCLUSIVE MODE NOWAIT")
      connection.releaseSavepoint(savepoint)
      true
    } catch {
      case error: SQLException if error.getSQLState == "55P03" =>
        connection.rollback(savepoint)
        false
    }
  }

  /** Drops the sink's free tables of other layouts; those that another session reads are left to a later start. */
  def dropOthers(connection: Connection): Unit = {
    val others =
      sql"""SELECT name FROM $registry WHERE sink_id = $sinkId AND layout <> $layout AND token IS NULL AND $mine
         |FOR UPDATE SKIP LOCKED""".query(connection)(_.getString(1)).filter(tryLock(connection, _))
    if (others.nonEmpty) drop(connection, others)
  }

  private def drop(connection: Connection, tables: Seq[String]): Unit = {
    Sql.run(connection, s"DROP TABLE IF EXISTS ${tables.map(relation).mkString(", ")}")
    sql"DELETE FROM $registry WHERE name IN ${Sql.list(tables)}".run(connection)
  }

  /** Whether no newer run has claimed the sink; locks the ledger row. A batch write has none. */
  def isCurrent(connection: Connection): Boolean =
    run.once || run.isCurrent(PostgresBulk.ledger(run).lockedOwner(connection, run.sinkId))
}
