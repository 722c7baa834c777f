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

/** A staging table that an attempt has filled.
  *
  * @param once
  *   of a batch write: nobody will use the table again
  */
final private[postgres] case class StagedTable(name: String, token: String, digest: ContentDigest, once: Boolean)

/** The table `epochal_staging` and the staging tables of one sink; see [[PostgresStaging]]. All inside the caller's
  * transaction.
  */
final private[postgres] class StagingRegistry(run: BulkRun) extends KeptTables(PostgresDialect, run.table.trust) {
  private val Name = "epochal_staging"
  private val registry = quoted(Name)
  private val sinkId = run.sinkId

  /** Of the columns that staging tables must have: when it changes, others are needed. */
  private lazy val layout = Sha256.hex((run.shape +: run.table.incoming).mkString("\n"), 8)

  /** SQL for a staging table. */
  def relation(table: String): String = words.table(named(table))

  def create(connection: Connection): Unit =
    if (!exists(connection, Name))
      sql"""CREATE TABLE $registry (name text PRIMARY KEY, sink_id text NOT NULL, layout text NOT NULL,
         |token text, generation bigint, epoch text, partition integer, attempt bigint, rows bigint, digest text,
         |taken_at timestamp with time zone) WITH (fillfactor = 50)""".run(connection)

  /** SQL: the line's table is there, under a name that [[add]] gives, made by this role, and as it was made (K19): others may
    * be able to write lines. Users change (passwords that are handed out for a day often come with names), and another's
    * table is neither filled nor emptied nor dropped.
    */
  private val mine =
    sql"""name ~ '^epochal_staging_[0-9a-f]{24}$$' AND EXISTS (SELECT FROM pg_class AS c
       |WHERE c.oid = to_regclass(format('%I.%I', ${trust.target.schema}::text, name))
       |AND c.relowner = (SELECT oid FROM pg_roles WHERE rolname = current_user)
       |AND c.relkind = 'r' AND NOT c.relhastriggers AND NOT c.relhasrules AND NOT c.relhassubclass)"""

  /** A free table, its line locked until the transaction ends. */
  def take(connection: Connection): Option[String] =
    sql"""SELECT name FROM $registry WHERE sink_id = $sinkId AND layout = $layout AND token IS NULL AND $mine
       |LIMIT 1 FOR UPDATE SKIP LOCKED""".query(connection)(_.getString(1)).headOption

  /** A new table, seen by nobody until the transaction ends. */
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

  /** Notes which attempt has filled a table. */
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

  /** The sink's tables that attempts have filled, their lines locked; without lines that somebody else has locked. An
    * attempt that looks for a free table while another is recorded holds that one's line, too, until its own end: what
    * is missing here may be [[filled]].
    */
  def taken(connection: Connection): Seq[StagedTable] = staged(connection, sql"FOR UPDATE SKIP LOCKED")

  /** The sink's tables that attempts have filled, whoever holds their lines. */
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

  /** Empties tables, to be used again. One that somebody reads (a backup) is left as it is until a later epoch: its token
    * is in no message any more.
    */
  def free(connection: Connection, tables: Seq[StagedTable]): Unit = {
    val (gone, kept) = tables.filter(table => alone(connection, table.name)).partition(_.once)
    if (gone.nonEmpty) drop(connection, gone.map(_.name))
    if (kept.nonEmpty) {
      Sql.run(connection, s"TRUNCATE ${kept.map(table => relation(table.name)).mkString(", ")}")
      sql"""UPDATE $registry SET token = NULL, generation = NULL, epoch = NULL, partition = NULL, attempt = NULL,
         |rows = NULL, digest = NULL, taken_at = NULL WHERE name IN ${Sql.list(kept.map(_.name))}""".run(connection)
    }
  }

  /** Locks a table, unless somebody else has a lock. */
  private def alone(connection: Connection, table: String): Boolean = {
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

  /** Drops the sink's free tables that have other columns than are needed now; those that somebody reads a later start. */
  def dropOthers(connection: Connection): Unit = {
    val others =
      sql"""SELECT name FROM $registry WHERE sink_id = $sinkId AND layout <> $layout AND token IS NULL AND $mine
         |FOR UPDATE SKIP LOCKED""".query(connection)(_.getString(1)).filter(alone(connection, _))
    if (others.nonEmpty) drop(connection, others)
  }

  private def drop(connection: Connection, tables: Seq[String]): Unit = {
    Sql.run(connection, s"DROP TABLE IF EXISTS ${tables.map(relation).mkString(", ")}")
    sql"DELETE FROM $registry WHERE name IN ${Sql.list(tables)}".run(connection)
  }

  /** Whether no newer run has claimed the sink; locks the ledger's row. A batch write has none. */
  def isCurrent(connection: Connection): Boolean =
    run.once || run.isCurrent(PostgresBulk.ledger(run).lockedOwner(connection, run.sinkId))
}
