package io.epochal.jdbc.postgres

import java.sql.{Connection, SQLException}

import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.hash.Sha256
import io.epochal.core.ledger.ContentDigest
import io.epochal.jdbc.commit.KeptTables
import io.epochal.jdbc.database.{BulkCopy, BulkRun, Database, Loaded, WriteMode}
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._
import io.epochal.kit.sink.BatchCommit
import io.epochal.kit.sink.transport.{BulkMessage, Shipment, TaskAttempt}

/** The transport `staged`: tasks COPY their rows into the sink's own unlogged staging tables, and the committing
  * transaction moves them into the target. Until then no reader of the target sees them.
  *
  * The registry `epochal_staging` (a logged table beside the ledger; `docs/PROTOCOL.md` lists its columns) has a row
  * for each staging table:
  *
  * {{{
  *         open: row locked          finish: token, count, digest; COMMIT
  *   free ──────────────────► filling ──────────────────────────────────► filled
  *    ▲                          │ rollback                                 │
  *    ├──────────────────────────┘                                          │
  *    └── load or settle: TRUNCATE, token cleared ──────────────────────────┘
  * }}}
  *
  *   - One attempt at a time fills a table: its row is locked from `open` to the end of the task's transaction.
  *   - The driver moves a table only if its row has the token, count and digest of a message, and it checks that all
  *     rows were moved, because a crash of the server empties unlogged tables.
  *   - `load` and `settle` hold the lock of the ledger row. Under it, a filled table belongs either to a message of the
  *     epoch, or to an attempt that will never have a message. Both kinds are emptied, in the same transaction.
  *   - A table whose row another session has locked is emptied by a later epoch. If a message names it, its rows are
  *     moved now.
  *
  * Tables are reused, so the catalog does not grow with the epochs: there are as many tables as attempts ran at the
  * same time. A batch write drops its tables.
  */
private[postgres] object PostgresStaging extends PostgresBulk {

  override val name = "staged"
  val Registry = "epochal_staging"
  override val tables: Seq[String] = Seq(Registry)

  override def claim(connection: Connection, run: BulkRun): Unit = new StagingRegistry(connection, run).create()

  override def open(connection: Connection, run: BulkRun, attempt: TaskAttempt, token: String): BulkCopy = {
    val registry = new StagingRegistry(connection, run)
    val table = registry.lockFree().getOrElse(registry.add(token))
    new BulkCopy {
      private val copy = new CopyStream(connection, registry.relation(table), run.table.incoming)
      override def write(bytes: Array[Byte], length: Int): Unit = copy.write(bytes, length)

      override def finish(digest: ContentDigest, rows: Long): String = {
        val storedRows = copy.finish()
        if (storedRows != rows) throw lost(attempt, table, storedRows, rows)
        registry.record(table, attempt, token, digest)
        PostgresDialect.commit(connection)
        Failpoints.reach(Failpoint.TaskStaged)
        table
      }

      override def cancel(): Unit = copy.close()
    }
  }

  override def load(connection: Connection, run: BulkRun, shipment: Shipment, epoch: String): Loaded = {
    val registry = new StagingRegistry(connection, run)
    val lockedTables = registry.lockFilled
    lazy val filledTables = registry.filledTables
    shipment.elsewhere
      .find(message => !lockedTables.exists(holds(_, message)) && !filledTables.exists(holds(_, message)))
      .foreach { message =>
        throw lost(message.attempt, message.place, 0L, message.stored)
      }
    val result = run.table.mode match {
      case WriteMode.Append         => append(connection, run, registry, shipment)
      case upsert: WriteMode.Upsert => merge(connection, run, registry, shipment, upsert)
    }
    Failpoints.reach(Failpoint.BeforeCleanup)
    registry.free(lockedTables)
    result
  }

  private def holds(table: StagedTable, message: BulkMessage): Boolean =
    table.name == message.place && table.token == message.token && table.digest == message.digest

  /** Moves the staged tables one after the other, then the rows of the messages. If fewer rows of a table are stored
    * than its message states, either the table has lost rows, which fails here, or the target drops rows, which the
    * caller reports.
    */
  private def append(connection: Connection, run: BulkRun, registry: StagingRegistry, shipment: Shipment): Loaded = {
    val movedRows = shipment.elsewhere.map { message =>
      val storedRows = PostgresLoad.move(connection, run.table, registry.relation(message.place))
      if (storedRows != message.stored) complete(connection, registry, message)
      storedRows
    }.sum
    val inline = shipment.rows.rows
    val copied = if (inline == 0) 0L else PostgresLoad.append(connection, run.table, shipment.rows)
    Loaded.Rows(movedRows + copied, shipment.stored)
  }

  /** Merges the rows of all staged tables and messages in one statement. The rows of the tables are counted unless the
    * server stored as many rows as were sent: then none was missing.
    */
  private def merge(
      connection: Connection,
      run: BulkRun,
      registry: StagingRegistry,
      shipment: Shipment,
      upsert: WriteMode.Upsert
  ): Loaded = {
    val inline = Option.when(shipment.rows.rows > 0)(PostgresIncoming.copy(connection, run.table, shipment.rows))
    val sources =
      (inline ++ shipment.elsewhere.map(m => registry.relation(m.place))).map(PostgresIncoming.typed(run.table, _))
    val result =
      PostgresMerge(connection, run.table, upsert, s"(${sources.mkString(" UNION ALL ")})", shipment.stored)
    if (result.stored != shipment.stored) shipment.elsewhere.foreach(complete(connection, registry, _))
    result
  }

  /** Fails with STAGING_LOST unless the table contains all rows of the attempt. */
  private def complete(connection: Connection, registry: StagingRegistry, message: BulkMessage): Unit = {
    val foundRows =
      Sql.query(connection, s"SELECT count(*) FROM ${registry.relation(message.place)}")(_.getLong(1)).head
    if (foundRows != message.stored) throw lost(message.attempt, message.place, foundRows, message.stored)
  }

  override def settle(database: Database, run: BulkRun): Unit =
    database.attempt("the removal of what is left in staging") { transaction =>
      val connection = transaction.connection
      val registry = new StagingRegistry(connection, run)
      if (registry.isCurrent) {
        val lockedTables = registry.lockFilled
        if (lockedTables.nonEmpty) Failpoints.reach(Failpoint.BeforeCleanup)
        registry.free(lockedTables)
        registry.dropOthers()
      }
      transaction.commit()
    }
}

/** A staging table filled by an attempt.
  *
  * @param digest
  *   of all the attempt's rows, as in its message
  * @param once
  *   whether a batch write filled it: it is dropped instead of reused
  */
final private[postgres] case class StagedTable(name: String, token: String, digest: ContentDigest, once: Boolean)

/** The rows of one sink in `epochal_staging`, and the staging tables that they list; see [[PostgresStaging]]. All
  * methods run in the caller's transaction.
  */
final private[postgres] class StagingRegistry(connection: Connection, run: BulkRun)
    extends KeptTables(PostgresDialect, run.table.trust) {
  private val Name = PostgresStaging.Registry
  private val registry = quoted(Name)
  private val sinkId = run.sinkId

  /** Hash of the columns that a staging table must have. Tables of another layout are not reused. */
  private lazy val layout =
    Sha256.hex(((run.shape +: run.table.incoming) ++ PostgresIncoming.parsed(run.table)).mkString("\n"), 8)

  /** SQL for the name of a staging table. */
  def relation(table: String): String = words.table(qualified(table))

  def create(): Unit =
    if (!exists(connection, Name))
      sql"""CREATE TABLE $registry (name text PRIMARY KEY, sink_id text NOT NULL, layout text NOT NULL,
         |token text, generation bigint, epoch text, partition integer, attempt bigint, rows bigint, digest text,
         |taken_at timestamp with time zone) WITH (fillfactor = 50)""".run(connection)

  /** SQL condition: the row's table exists, has a name as [[add]] generates them, is owned by the current role, and has
    * no triggers, rules or children. So a row that another role has written cannot make this sink fill, empty or drop a
    * table that is no staging table of its role. Tables of an earlier role of the sink (short-lived credentials may
    * change its name) are not touched either.
    */
  private val mine =
    sql"""name ~ '^epochal_staging_[0-9a-f]{24}$$' AND EXISTS (SELECT FROM pg_class AS c
       |WHERE c.oid = to_regclass(format('%I.%I', ${trust.target.schema}::text, name))
       |AND c.relowner = (SELECT oid FROM pg_roles WHERE rolname = current_user)
       |AND c.relkind = 'r' AND NOT c.relhastriggers AND NOT c.relhasrules AND NOT c.relhassubclass)"""

  /** Finds a free table and locks its row until the transaction ends; None if there is none. */
  def lockFree(): Option[String] =
    sql"""SELECT name FROM $registry WHERE sink_id = $sinkId AND layout = $layout AND token IS NULL AND $mine
       |LIMIT 1 FOR UPDATE SKIP LOCKED""".query(connection)(_.getString(1)).headOption

  /** Creates a table and its row, which other sessions see once the transaction has committed. */
  def add(token: String): String = {
    val name = s"epochal_staging_${token.replace("-", "").take(24)}"
    Sql.run(
      connection,
      text"""CREATE UNLOGGED TABLE ${relation(name)} WITH (autovacuum_enabled = false) AS
         |${PostgresIncoming.like(run.table)} WITH NO DATA"""
    )
    sql"INSERT INTO $registry (name, sink_id, layout) VALUES ($name, $sinkId, $layout)".run(connection)
    name
  }

  /** Records that an attempt has filled a table. */
  def record(table: String, attempt: TaskAttempt, token: String, digest: ContentDigest): Unit = {
    val updates =
      sql"""UPDATE $registry SET token = $token, generation = ${run.generation}, epoch = ${attempt.epoch},
         |partition = ${attempt.partition}, attempt = ${attempt.taskId}, rows = ${digest.rows}, digest = ${digest.hex},
         |taken_at = now() WHERE name = $table""".update(connection)
    if (updates != 1L) throw new IllegalStateException(s"the line of $table is gone from $Name")
  }

  /** Locks and returns the filled tables: those of the sink, and those that batch writes left more than a day ago. Rows
    * that other sessions have locked are skipped. These may be rows of filled tables: a task that was looking for a
    * free table while the row was updated holds its lock until the task ends. [[filledTables]] has them.
    */
  def lockFilled: Seq[StagedTable] = stagedTables(sql"FOR UPDATE SKIP LOCKED")

  /** The tables of [[lockFilled]], and those whose rows other sessions have locked. Locks nothing. */
  def filledTables: Seq[StagedTable] = stagedTables(sql"")

  private def stagedTables(locks: Sql): Seq[StagedTable] = {
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

  /** Empties tables for reuse, and drops those of batch writes. A table that another session reads (a backup) is
    * skipped. It keeps its token, which no later message has, so a later epoch empties it.
    */
  def free(tables: Seq[StagedTable]): Unit = {
    val (toDrop, toEmpty) = tables.filter(table => tryLock(table.name)).partition(_.once)
    if (toDrop.nonEmpty) drop(toDrop.map(_.name))
    if (toEmpty.nonEmpty) {
      Sql.run(connection, s"TRUNCATE ${toEmpty.map(table => relation(table.name)).mkString(", ")}")
      sql"""UPDATE $registry SET token = NULL, generation = NULL, epoch = NULL, partition = NULL, attempt = NULL,
         |rows = NULL, digest = NULL, taken_at = NULL WHERE name IN ${Sql.list(toEmpty.map(_.name))}""".run(connection)
    }
  }

  /** Locks a table, unless another session holds a lock on it (`lock_not_available`). The savepoint keeps the
    * transaction usable after that error.
    */
  private def tryLock(table: String): Boolean = {
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

  /** Drops the sink's free tables of other layouts. Those that another session reads are left to a later call. */
  def dropOthers(): Unit = {
    val others =
      sql"""SELECT name FROM $registry WHERE sink_id = $sinkId AND layout <> $layout AND token IS NULL AND $mine
         |FOR UPDATE SKIP LOCKED""".query(connection)(_.getString(1)).filter(tryLock)
    if (others.nonEmpty) drop(others)
  }

  private def drop(tables: Seq[String]): Unit = {
    Sql.run(connection, s"DROP TABLE IF EXISTS ${tables.map(relation).mkString(", ")}")
    sql"DELETE FROM $registry WHERE name IN ${Sql.list(tables)}".run(connection)
  }

  /** Whether no newer run has claimed the sink; locks the ledger row. A batch write has no ledger row and is always
    * current.
    */
  def isCurrent: Boolean =
    run.once || run.isCurrent(PostgresBulk.ledger(run).lock(connection, run.sinkId))
}
