package io.epochal.jdbc.commit

import java.sql.{Connection, ResultSet}

import io.epochal.core.ledger.{Boundary, Position, Progress, TriggerMode}
import io.epochal.jdbc.database.{BulkRun, Dialect, Trust}
import io.epochal.jdbc.option.QualifiedName
import io.epochal.jdbc.sql.SqlText._
import io.epochal.jdbc.sql.{Ddl, Sql}

/** The tables beside the ledger that tell of rows stored in the middle of epochs (K12); `docs/PROTOCOL.md` has their columns.
  *
  *   - `epochal_ledger_progress`: one row for each task partition of a query: up to where its rows are stored, and the run that may
  *     store more. A task moves it in the transaction of the rows
  *   - `epochal_ledger_boundary`: where the partitions were at the end of the latest epochs. The driver writes it, under the
  *     lock of the ledger's row
  *
  * All methods run inside the caller's transaction. Who may write is decided by generation and run id in the row itself: a claim
  * puts its own there.
  */
final private[jdbc] class ProgressTable(dialect: Dialect, trust: Trust) {
  import ProgressTable._

  private val sql = dialect.ledger
  private val progress = quoted(ProgressName)
  private val boundary = quoted(BoundaryName)

  private def named(table: String): QualifiedName = QualifiedName(trust.target.schema, table)
  private def quoted(table: String): String = sql.table(named(table))

  /** Whether the tables are there; one that cannot be trusted is an error. */
  def exists(connection: Connection): Boolean =
    Seq(ProgressName, BoundaryName).forall { table =>
      sql.exists(connection, named(table)) && {
        dialect.checkTrusted(connection, named(table), trust, named = false)
        true
      }
    }

  /** Makes them. Claims are serialized, so nobody else makes them at the same time. */
  def create(connection: Connection): Unit = {
    val key =
      s"sink_id ${sql.text} NOT NULL, query_id ${sql.text} NOT NULL, task_partition ${sql.bigint} NOT NULL"
    make(
      connection,
      ProgressName,
      sql"""$key, generation ${sql.bigint} NOT NULL, run_id ${sql.text} NOT NULL, applied ${sql.bigint} NOT NULL,
         |digest ${sql.text} NOT NULL, failed ${sql.text}, updated_at ${sql.timestamp} NOT NULL,
         |PRIMARY KEY (sink_id, query_id, task_partition)"""
    )
    make(
      connection,
      BoundaryName,
      sql"""$key, epoch ${sql.bigint} NOT NULL, trigger_mode ${sql.text} NOT NULL, offsets_hash ${sql.text},
         |delivered ${sql.bigint} NOT NULL, digest ${sql.text} NOT NULL,
         |PRIMARY KEY (sink_id, query_id, epoch, task_partition)"""
    )
  }

  private def make(connection: Connection, table: String, columns: String): Unit =
    if (!sql.exists(connection, named(table)))
      Ddl.create(connection, s"CREATE TABLE ${quoted(table)} ($columns)${sql.tableOptions}")(
        sql.exists(connection, named(table)))

  /** Waits for flushes of a sink that are under way, and keeps others out until the transaction ends. */
  def lock(connection: Connection, sinkId: String): Unit = {
    if (sql.locksByUpdate)
      Sql.update(connection, s"UPDATE $progress SET applied = applied WHERE sink_id = ?", sinkId): Unit
    Sql.query(connection, s"SELECT applied FROM $progress WHERE sink_id = ?${sql.forUpdate}", sinkId)(
      _.getLong(1)): Unit
  }

  /** Puts a run in the place of those before it (K5): they store nothing more. */
  def claim(connection: Connection, sinkId: String, generation: Long, runId: String): Unit =
    Sql.update(
      connection,
      s"UPDATE $progress SET generation = ?, run_id = ?, failed = NULL WHERE sink_id = ?",
      generation,
      runId,
      sinkId): Unit

  /** After rows beyond the last epoch were lost with their table: they are stored again when they come. */
  def rewind(connection: Connection, sinkId: String): Unit = Sql
    .query(
      connection,
      sql"""SELECT b.query_id, b.task_partition, b.delivered, b.digest FROM $boundary b
         |WHERE b.sink_id = ? AND b.epoch =
         |(SELECT MAX(l.epoch) FROM $boundary l WHERE l.sink_id = b.sink_id AND l.query_id = b.query_id)""",
      sinkId
    )(rows => (rows.getString(1), rows.getInt(2), rows.getLong(3), rows.getString(4)))
    .foreach { case (query, partition, delivered, digest) =>
      Sql.update(
        connection,
        s"UPDATE $progress SET applied = ?, digest = ? WHERE sink_id = ? AND query_id = ? AND task_partition = ?",
        delivered,
        digest,
        sinkId,
        query,
        partition): Unit
    }

  /** All that is kept of a query. */
  def read(connection: Connection, sinkId: String, queryId: String): Progress = {
    val applied = Sql.query(
      connection,
      s"SELECT task_partition, applied, digest FROM $progress WHERE sink_id = ? AND query_id = ?",
      sinkId,
      queryId)(rows => rows.getInt(1) -> Position.parse(rows.getLong(2), rows.getString(3)))
    val ends = Sql.query(
      connection,
      sql"""SELECT epoch, trigger_mode, offsets_hash, task_partition, delivered, digest FROM $boundary
         |WHERE sink_id = ? AND query_id = ?""",
      sinkId,
      queryId)(end)
    val boundaries = ends.groupBy(_._1).map { case (epoch, all) =>
      val (_, trigger, hash, _) = all.head
      Boundary(epoch, trigger, hash, all.map(_._4).toMap)
    }
    Progress(boundaries.toSeq.sortBy(_.epoch), applied.toMap)
  }

  private def end(rows: ResultSet): (Long, TriggerMode, Option[String], (Int, Position)) = (
    rows.getLong("epoch"),
    TriggerMode
      .parse(rows.getString("trigger_mode"))
      .getOrElse(throw new IllegalStateException(s"$boundary has no such trigger: ${rows.getString("trigger_mode")}")),
    Option(rows.getString("offsets_hash")),
    rows.getInt("task_partition") -> Position.parse(rows.getLong("delivered"), rows.getString("digest")))

  /** Makes the boundary the only one of its query, and its ends what is stored. */
  def anchor(connection: Connection, run: BulkRun, queryId: String, at: Boundary): Unit = {
    end(connection, run.sinkId, queryId)
    at.ends.toSeq.sortBy(_._1).foreach { case (partition, position) =>
      Sql.update(
        connection,
        sql"""INSERT INTO $progress (sink_id, query_id, task_partition, generation, run_id, applied, digest, updated_at)
           |VALUES (?, ?, ?, ?, ?, ?, ?, ${sql.now})""",
        run.sinkId,
        queryId,
        partition,
        run.generation,
        run.runId,
        position.rows,
        position.hex
      )
    }
    write(connection, run.sinkId, queryId, at)
  }

  /** Notes which offsets were logged for a boundary. */
  def note(connection: Connection, sinkId: String, queryId: String, epoch: Long, offsetsHash: String): Unit =
    Sql.update(
      connection,
      s"UPDATE $boundary SET offsets_hash = ? WHERE sink_id = ? AND query_id = ? AND epoch = ?",
      offsetsHash,
      sinkId,
      queryId,
      epoch): Unit

  /** Forgets all of a query. */
  def end(connection: Connection, sinkId: String, queryId: String): Unit = Seq(progress, boundary).foreach(table =>
    Sql.update(connection, s"DELETE FROM $table WHERE sink_id = ? AND query_id = ?", sinkId, queryId))

  /** Forgets all of a sink. */
  def forget(connection: Connection, sinkId: String): Unit =
    Seq(progress, boundary).foreach(table => Sql.update(connection, s"DELETE FROM $table WHERE sink_id = ?", sinkId))

  /** Whether anything is kept of a sink. */
  def knows(connection: Connection, sinkId: String): Boolean =
    Sql.query(connection, s"SELECT task_partition FROM $progress WHERE sink_id = ?", sinkId)(_.getLong(1)).nonEmpty

  /** Puts a boundary in the place of an earlier one of its epoch, and drops those that no restart goes back to. */
  def record(connection: Connection, sinkId: String, queryId: String, at: Boundary): Unit = {
    Sql.update(
      connection,
      s"DELETE FROM $boundary WHERE sink_id = ? AND query_id = ? AND (epoch = ? OR epoch < ?)",
      sinkId,
      queryId,
      at.epoch,
      at.epoch - Kept + 1): Unit
    write(connection, sinkId, queryId, at)
  }

  private def write(connection: Connection, sinkId: String, queryId: String, at: Boundary): Unit =
    at.ends.toSeq.sortBy(_._1).foreach { case (partition, position) =>
      Sql.update(
        connection,
        sql"""INSERT INTO $boundary (sink_id, query_id, task_partition, epoch, trigger_mode, offsets_hash, delivered, digest)
           |VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
        sinkId,
        queryId,
        partition,
        at.epoch,
        at.trigger.name,
        at.offsetsHash,
        position.rows,
        position.hex
      )
    }

  /** The row of a task partition, locked until the transaction ends. */
  def partition(connection: Connection, sinkId: String, queryId: String, partition: Int): Option[PartitionProgress] = {
    val where = "WHERE sink_id = ? AND query_id = ? AND task_partition = ?"
    if (sql.locksByUpdate)
      Sql.update(connection, s"UPDATE $progress SET applied = applied $where", sinkId, queryId, partition): Unit
    Sql
      .query(
        connection,
        s"SELECT generation, run_id, applied, digest, failed FROM $progress $where${sql.forUpdate}",
        sinkId,
        queryId,
        partition)(rows =>
        PartitionProgress(
          rows.getLong(1),
          rows.getString(2),
          Position.parse(rows.getLong(3), rows.getString(4)),
          Option(rows.getString(5))))
      .headOption
  }

  /** Moves a task partition, provided that it is where the task knows it to be, that the run may write, and that the table is
    * still the one, with columns of the types, that the rows were encoded for.
    *
    * @return
    *   false when not: the transaction must be rolled back
    */
  def advance(
      connection: Connection,
      run: BulkRun,
      queryId: String,
      partition: Int,
      from: Position,
      to: Position): Boolean = {
    val table = run.table
    val same =
      table.table.target.oid.fold("")(oid => s" AND ${sql.same(oid.toString, dialect.identitySql(table.table.name))}")
    Sql.update(
      connection,
      sql"""UPDATE $progress SET applied = ?, digest = ?, updated_at = ${sql.now}
         |WHERE sink_id = ? AND query_id = ? AND task_partition = ? AND generation = ? AND run_id = ?
         |AND applied = ? AND digest = ? AND failed IS NULL$same AND ${dialect.shapeSql(table)} = ?""",
      to.rows,
      to.hex,
      run.sinkId,
      queryId,
      partition,
      run.generation,
      run.runId,
      from.rows,
      from.hex,
      run.shape
    ) == 1L
  }

  /** Lets no task of a run store rows any more. */
  def fail(connection: Connection, run: BulkRun, reason: String): Unit =
    Sql.update(
      connection,
      s"UPDATE $progress SET failed = ? WHERE sink_id = ? AND generation = ? AND run_id = ?",
      reason.take(LongestReason),
      run.sinkId,
      run.generation,
      run.runId): Unit
}

/** Of one task partition.
  *
  * @param failed
  *   why the run may store nothing more
  */
final private[jdbc] case class PartitionProgress(
    generation: Long,
    runId: String,
    applied: Position,
    failed: Option[String])

private object ProgressTable {
  private val ProgressName = "epochal_ledger_progress"
  private val BoundaryName = "epochal_ledger_boundary"

  /** Epochs whose ends are kept: a restart goes back to the one before the last. */
  private val Kept = 3L
  private val LongestReason = 200
}
