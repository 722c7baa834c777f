package io.epochal.jdbc.commit

import java.sql.{Connection, ResultSet}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.{AppliedEpoch, ContentDigest, LedgerRow, ServerIdentity, Target, TriggerMode}
import io.epochal.jdbc.database.{BoundTable, BulkRun, Dialect, Trust}
import io.epochal.jdbc.option.QualifiedName
import io.epochal.jdbc.sql.SqlText._
import io.epochal.jdbc.sql.{Ddl, Sql}

/** The ledger's tables in the target's database and schema; `docs/PROTOCOL.md` has their columns.
  *
  *   - `epochal_ledger`: one row per sink id, the only one that decides anything
  *   - `epochal_ledger_retired`: the rows of queries that another query has taken over from, for when they come back
  *   - `epochal_ledger_history`: the latest epochs, for people
  *   - `epochal_ledger_lock`: one row that claims lock, only in databases without a better lock
  *
  * All methods run inside the caller's transaction.
  *
  * @param trust
  *   whose ledger it is, and who may have made it
  * @param place
  *   for messages
  */
final class LedgerTable(dialect: Dialect, trust: Trust, place: String) {
  import LedgerTable._

  private val sql = dialect.ledger
  private val ledger = quoted("epochal_ledger")
  private val retired = quoted("epochal_ledger_retired")
  private val history = quoted("epochal_ledger_history")

  private val claiming = quoted("epochal_ledger_lock")
  private val rowCount = sql.column("rows")
  private val number = sql.column("number")

  private def named(table: String): QualifiedName = QualifiedName(trust.target.schema, table)
  private def quoted(table: String): String = sql.table(named(table))

  /** What is beside the ledger of the same schema. */
  private[jdbc] def progress: ProgressTable = new ProgressTable(dialect, trust)

  /** Makes what is missing. Claims are serialized, so nobody else makes them at the same time. */
  def create(connection: Connection): Unit = {
    val row =
      sql"""sink_id ${sql.text} NOT NULL, v ${sql.bigint} NOT NULL, query_id ${sql.text} NOT NULL,
         |target ${sql.text} NOT NULL, target_oid ${sql.bigint},
         |last_epoch ${sql.bigint}, trigger_mode ${sql.text}, offsets_hash ${sql.text}, digest ${sql.text}, $rowCount ${sql.bigint},
         |epochs ${sql.bigint} NOT NULL, total_rows ${sql.bigint} NOT NULL,
         |generation ${sql.bigint} NOT NULL, run_id ${sql.text} NOT NULL,
         |server_id ${sql.text} NOT NULL, timeline ${sql.bigint},
         |created_at ${sql.timestamp} NOT NULL, updated_at ${sql.timestamp} NOT NULL"""
    make(connection, "epochal_ledger", s"$row, PRIMARY KEY (sink_id)")
    make(connection, "epochal_ledger_retired", s"$row, PRIMARY KEY (sink_id, query_id)")
    make(
      connection,
      "epochal_ledger_history",
      sql"""sink_id ${sql.text} NOT NULL, $number ${sql.bigint} NOT NULL, epoch ${sql.bigint} NOT NULL,
         |query_id ${sql.text} NOT NULL, run_id ${sql.text} NOT NULL, generation ${sql.bigint} NOT NULL,
         |target ${sql.text} NOT NULL, trigger_mode ${sql.text} NOT NULL, offsets_hash ${sql.text},
         |digest ${sql.text} NOT NULL, $rowCount ${sql.bigint} NOT NULL, committed_at ${sql.timestamp} NOT NULL,
         |PRIMARY KEY (sink_id, $number)"""
    )
  }

  private def make(connection: Connection, table: String, columns: String): Unit =
    if (!exists(connection, table))
      Ddl.create(connection, s"CREATE TABLE ${quoted(table)} ($columns)${sql.tableOptions}")(exists(connection, table))

  /** Whether there is such a table; one that cannot be trusted is an error. */
  private def exists(connection: Connection, table: String): Boolean =
    sql.exists(connection, named(table)) && {
      dialect.checkTrusted(connection, named(table), trust, named = false)
      true
    }

  /** Makes the row that stands in for a lock of the database. */
  def createLock(connection: Connection): Unit = {
    make(connection, "epochal_ledger_lock", s"id ${sql.bigint} NOT NULL, PRIMARY KEY (id)")
    def exists: Boolean = Sql.query(connection, s"SELECT id FROM $claiming")(_.getLong(1)).nonEmpty
    if (!exists) Ddl.create(connection, s"INSERT INTO $claiming (id) VALUES (1)")(exists)
  }

  /** Waits until no other claim goes on. */
  def takeLock(connection: Connection): Unit = Sql.update(connection, s"UPDATE $claiming SET id = id"): Unit

  /** The sink's row, locked until the transaction ends. */
  def lock(connection: Connection, sinkId: String): Option[LedgerRow] = {
    if (sql.locksByUpdate) Sql.update(connection, s"UPDATE $ledger SET v = v WHERE sink_id = ?", sinkId): Unit
    Sql.query(connection, s"SELECT * FROM $ledger WHERE sink_id = ?${sql.forUpdate}", sinkId)(read).headOption
  }

  /** Generation and run id of the run that may write, without a lock. */
  def owner(connection: Connection, sinkId: String): Option[(Long, String)] =
    Sql
      .query(connection, s"SELECT generation, run_id FROM $ledger WHERE sink_id = ?", sinkId)(rows =>
        (rows.getLong(1), rows.getString(2)))
      .headOption

  /** What a run is to be told if another may write. Without a lock. */
  def fenced(connection: Connection, run: BulkRun): Option[EpochalException] = {
    val current = owner(connection, run.sinkId)
    Option.when(!run.isCurrent(current))(
      Conditions.SinkFenced(
        "sinkId" -> run.sinkId,
        "generation" -> run.generation,
        "current" -> current.fold("none")(_._1.toString)))
  }

  /** The sink's row, without a lock; None where there is no ledger, too. */
  def row(connection: Connection, sinkId: String): Option[LedgerRow] =
    if (exists(connection))
      Sql.query(connection, s"SELECT * FROM $ledger WHERE sink_id = ?", sinkId)(read).headOption
    else None

  /** The same of all that is read and repaired by hand. */
  def isComplete(connection: Connection): Boolean =
    Seq("epochal_ledger", "epochal_ledger_retired", "epochal_ledger_history").forall(exists(connection, _))

  /** Whether there is a ledger. */
  def exists(connection: Connection): Boolean = exists(connection, "epochal_ledger")

  /** The last epoch that was applied, without a lock. */
  def lastEpoch(connection: Connection, sinkId: String): Option[Long] =
    Sql
      .query(connection, s"SELECT last_epoch FROM $ledger WHERE sink_id = ?", sinkId)(Sql.long(_, "last_epoch"))
      .flatten
      .headOption

  /** Generation and run id of the run that may write; the sink's row stays locked until the transaction ends. */
  def lockedOwner(connection: Connection, sinkId: String): Option[(Long, String)] =
    lock(connection, sinkId).map(row => (row.generation, row.runId))

  /** What this very query had when another took the sink over from it. */
  def known(connection: Connection, sinkId: String, queryId: String): Option[LedgerRow] =
    Sql
      .query(connection, s"SELECT * FROM $retired WHERE sink_id = ? AND query_id = ?", sinkId, queryId)(read)
      .headOption

  /** Other sinks that write to the target: by its number, where it has one, since a table can be renamed. */
  def others(connection: Connection, sinkId: String, target: Target): Seq[LedgerRow] = {
    val (same, value) = target.oid.fold[(String, Any)](("target", target.name))(("target_oid", _))
    Sql.query(connection, s"SELECT * FROM $ledger WHERE $same = ? AND sink_id <> ? ORDER BY sink_id", value, sinkId)(
      read)
  }

  /** Writes what a claim decided; the row of another query, which it replaces, is kept. */
  def claim(connection: Connection, before: Option[LedgerRow], row: LedgerRow): Unit = {
    before.filter(_.queryId != row.queryId).foreach(retire(connection, _))
    val last = row.last
    val values = Seq[Any](
      Version,
      row.queryId,
      row.target.name,
      row.target.oid,
      last.map(_.epoch),
      last.map(_.trigger.name),
      last.flatMap(_.offsetsHash),
      last.map(_.digest.hex),
      last.map(_.digest.rows),
      row.generation,
      row.runId,
      row.server.id,
      row.server.timeline,
      row.sinkId
    )
    if (before.isEmpty)
      Sql.update(
        connection,
        sql"""INSERT INTO $ledger (v, query_id, target, target_oid, last_epoch, trigger_mode, offsets_hash, digest, $rowCount,
           |generation, run_id, server_id, timeline, sink_id, epochs, total_rows, created_at, updated_at)
           |VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
           |(SELECT COALESCE(max($number), 0) FROM $history WHERE sink_id = ?), 0, ${sql.now}, ${sql.now})""",
        values :+ row.sinkId: _*
      ): Unit
    else
      Sql.update(
        connection,
        sql"""UPDATE $ledger SET v = ?, query_id = ?, target = ?, target_oid = ?, last_epoch = ?, trigger_mode = ?,
           |offsets_hash = ?, digest = ?, $rowCount = ?, generation = ?, run_id = ?, server_id = ?, timeline = ?,
           |updated_at = ${sql.now} WHERE sink_id = ?""",
        values: _*
      ): Unit
  }

  /** Makes the row that of another query and target; what it was before is kept. */
  def takeOver(connection: Connection, before: LedgerRow, queryId: String, target: Target): Unit = {
    retire(connection, before)
    Sql.update(
      connection,
      s"UPDATE $ledger SET query_id = ?, target = ?, target_oid = ? WHERE sink_id = ?",
      queryId,
      target.name,
      target.oid,
      before.sinkId): Unit
  }

  private def retire(connection: Connection, row: LedgerRow): Unit = {
    Sql.update(connection, s"DELETE FROM $retired WHERE sink_id = ? AND query_id = ?", row.sinkId, row.queryId): Unit
    // By name: somebody else may have made the tables, with columns in another order.
    val columns =
      sql"""sink_id, v, query_id, target, target_oid, last_epoch, trigger_mode, offsets_hash, digest, $rowCount, epochs, total_rows,
         |generation, run_id, server_id, timeline, created_at, updated_at"""
    Sql.update(
      connection,
      s"INSERT INTO $retired ($columns) SELECT $columns FROM $ledger WHERE sink_id = ?",
      row.sinkId): Unit
  }

  /** Writes the epoch that the row has applied last, provided that the table is still the one that the row names, with columns of the
    * types that the rows were encoded for. The load holds a lock on the table: this stays so until the COMMIT.
    *
    * @return
    *   false when it is not: the transaction must be rolled back
    */
  def record(connection: Connection, row: LedgerRow, table: BoundTable, shape: String): Boolean =
    record(connection, row, table, shape, row.last.get.digest.rows)

  /** The same.
    *
    * @param added
    *   rows by which there are more than before
    */
  def record(connection: Connection, row: LedgerRow, table: BoundTable, shape: String, added: Long): Boolean = {
    val applied = row.last.get
    val changed = Sql.update(
      connection,
      sql"""UPDATE $ledger SET last_epoch = ?, trigger_mode = ?, offsets_hash = ?, digest = ?, $rowCount = ?,
         |epochs = epochs + 1, total_rows = total_rows + ?, updated_at = ${sql.now}
         |WHERE sink_id = ? AND generation = ? AND run_id = ?
         |AND ${sql.same("target_oid", dialect.identitySql(table.table.name))} AND ${dialect.shapeSql(table)} = ?""",
      applied.epoch,
      applied.trigger.name,
      applied.offsetsHash,
      applied.digest.hex,
      applied.digest.rows,
      added,
      row.sinkId,
      row.generation,
      row.runId,
      shape
    )
    if (changed == 1L) {
      remember(connection, row.sinkId)
      if (applied.epoch % Prune == 0) prune(connection, row.sinkId)
    }
    changed == 1L
  }

  private def remember(connection: Connection, sinkId: String): Unit =
    Sql.update(
      connection,
      sql"""INSERT INTO $history (sink_id, $number, epoch, query_id, run_id, generation, target, trigger_mode, offsets_hash,
         |digest, $rowCount, committed_at)
         |SELECT sink_id, epochs, last_epoch, query_id, run_id, generation, target, trigger_mode, offsets_hash, digest, $rowCount,
         |updated_at FROM $ledger WHERE sink_id = ?""",
      sinkId
    ): Unit

  private def prune(connection: Connection, sinkId: String): Unit =
    Sql.update(
      connection,
      s"DELETE FROM $history WHERE sink_id = ? AND $number <= (SELECT epochs - $Keep FROM $ledger WHERE sink_id = ?)",
      sinkId,
      sinkId
    ): Unit

  /** For repairs, under the row's lock: the last epoch that counts as applied from now on. As a claim does, it raises the
    * generation, so that a run which is still active is fenced.
    */
  def correct(connection: Connection, sinkId: String, runId: String, applied: AppliedEpoch): Unit =
    Sql.update(
      connection,
      sql"""UPDATE $ledger SET last_epoch = ?, trigger_mode = ?, offsets_hash = ?, digest = ?, $rowCount = ?,
         |generation = generation + 1, run_id = ?, updated_at = ${sql.now} WHERE sink_id = ?""",
      applied.epoch,
      applied.trigger.name,
      applied.offsetsHash,
      applied.digest.hex,
      applied.digest.rows,
      runId,
      sinkId
    ): Unit

  /** The same: nothing is known of the sink any more but its history. */
  def forget(connection: Connection, sinkId: String): Unit =
    Seq(ledger, retired).foreach(table => Sql.update(connection, s"DELETE FROM $table WHERE sink_id = ?", sinkId))

  /** For people: the sinks' ids. */
  def sinks(connection: Connection): Seq[String] =
    Sql.query(connection, s"SELECT sink_id FROM $ledger ORDER BY sink_id")(_.getString(1))

  /** For people: the rows of a sink in the ledger (one, or none), and of queries that were replaced. */
  def described[A](connection: Connection, sinkId: String)(row: ResultSet => A): (Option[A], Seq[A]) = (
    Sql.query(connection, s"SELECT * FROM $ledger WHERE sink_id = ?", sinkId)(row).headOption,
    Sql.query(connection, s"SELECT * FROM $retired WHERE sink_id = ? ORDER BY updated_at", sinkId)(row))

  /** For people: the latest epochs, newest first. */
  def latest[A](connection: Connection, sinkId: String, epochs: Int)(line: ResultSet => A): Seq[A] =
    Sql.query(
      connection,
      s"""SELECT * FROM $history WHERE sink_id = ? AND $number > (SELECT epochs - $epochs FROM $ledger WHERE sink_id = ?)
         |ORDER BY $number DESC""".stripMargin,
      sinkId,
      sinkId)(line)

  private def read(rows: ResultSet): LedgerRow = {
    val version = rows.getLong("v")
    if (version > Version)
      throw Conditions.LedgerVersionUnsupported(
        "url" -> place,
        "sinkId" -> rows.getString("sink_id"),
        "found" -> version,
        "supported" -> Version)
    LedgerRow(
      rows.getString("sink_id"),
      rows.getString("query_id"),
      Target(rows.getString("target"), Sql.long(rows, "target_oid")),
      Sql.long(rows, "last_epoch").map(applied(rows, _)),
      rows.getLong("generation"),
      rows.getString("run_id"),
      ServerIdentity(rows.getString("server_id"), Sql.long(rows, "timeline"))
    )
  }

  private def triggerMode(name: String): TriggerMode =
    TriggerMode
      .parse(name)
      .getOrElse(throw new IllegalStateException(s"the ledger in $place has no such trigger: '$name'"))

  private def applied(rows: ResultSet, epoch: Long): AppliedEpoch = AppliedEpoch(
    epoch,
    triggerMode(rows.getString("trigger_mode")),
    Option(rows.getString("offsets_hash")),
    ContentDigest.parse(rows.getLong("rows"), rows.getString("digest"))
  )
}

object LedgerTable {

  /** Of the rows that this release writes; it reads all up to it. */
  val Version = 1L

  /** Epochs that the history keeps for each sink; up to `Prune` more are there until they are removed together. */
  val Keep = 1000L
  private val Prune = 100L
}
