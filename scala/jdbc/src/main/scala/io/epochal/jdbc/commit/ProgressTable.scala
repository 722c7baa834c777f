package io.epochal.jdbc.commit

import java.sql.{Connection, ResultSet}

import io.epochal.core.ledger.{Boundary, Position, Progress, TriggerMode}
import io.epochal.jdbc.database.{BulkRun, Dialect, Trust}
import io.epochal.jdbc.sql.Sql
import io.epochal.jdbc.sql.SqlText._

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
final private[jdbc] class ProgressTable(dialect: Dialect, trust: Trust) extends KeptTables(dialect, trust) {
  import ProgressTable._

  private val progress = quoted(ProgressName)
  private val boundary = quoted(BoundaryName)

  /** Whether the tables are there; one that cannot be trusted is an error. */
  def exists(connection: Connection): Boolean = Seq(ProgressName, BoundaryName).forall(exists(connection, _))

  /** Makes them. Claims are serialized, so nobody else makes them at the same time. */
  def create(connection: Connection): Unit = {
    import words.{bigint, text, timestamp}
    val key = s"sink_id $text NOT NULL, query_id $text NOT NULL, task_partition $bigint NOT NULL"
    make(
      connection,
      ProgressName,
      text"""$key, generation $bigint NOT NULL, run_id $text NOT NULL, applied $bigint NOT NULL,
         |digest $text NOT NULL, failed $text, updated_at $timestamp NOT NULL,
         |PRIMARY KEY (sink_id, query_id, task_partition)"""
    )
    make(
      connection,
      BoundaryName,
      text"""$key, epoch $bigint NOT NULL, trigger_mode $text NOT NULL, offsets_hash $text,
         |delivered $bigint NOT NULL, digest $text NOT NULL,
         |PRIMARY KEY (sink_id, query_id, epoch, task_partition)"""
    )
  }

  /** Waits for flushes of a sink that are under way, and keeps others out until the transaction ends. */
  def lock(connection: Connection, sinkId: String): Unit = {
    if (words.locksByUpdate) sql"UPDATE $progress SET applied = applied WHERE sink_id = $sinkId".run(connection)
    sql"SELECT applied FROM $progress WHERE sink_id = $sinkId$forUpdate".query(connection)(_.getLong(1)): Unit
  }

  /** Puts a run in the place of those before it (K5): they store nothing more. */
  def claim(connection: Connection, sinkId: String, generation: Long, runId: String): Unit =
    sql"UPDATE $progress SET generation = $generation, run_id = $runId, failed = NULL WHERE sink_id = $sinkId"
      .run(connection)

  /** After rows beyond the last epoch were lost with their table: they are stored again when they come. */
  def rewind(connection: Connection, sinkId: String): Unit =
    sql"""SELECT b.query_id, b.task_partition, b.delivered, b.digest FROM $boundary b
       |WHERE b.sink_id = $sinkId AND b.epoch =
       |(SELECT MAX(l.epoch) FROM $boundary l WHERE l.sink_id = b.sink_id AND l.query_id = b.query_id)"""
      .query(connection)(rows => (rows.getString(1), rows.getInt(2), rows.getLong(3), rows.getString(4)))
      .foreach { case (query, partition, delivered, digest) =>
        sql"""UPDATE $progress SET applied = $delivered, digest = $digest
           |WHERE sink_id = $sinkId AND query_id = $query AND task_partition = $partition""".run(connection)
      }

  /** All that is kept of a query. */
  def read(connection: Connection, sinkId: String, queryId: String): Progress = {
    val applied =
      sql"SELECT task_partition, applied, digest FROM $progress WHERE sink_id = $sinkId AND query_id = $queryId"
        .query(connection)(rows => rows.getInt(1) -> Position.parse(rows.getLong(2), rows.getString(3)))
    val ends =
      sql"""SELECT epoch, trigger_mode, offsets_hash, task_partition, delivered, digest FROM $boundary
         |WHERE sink_id = $sinkId AND query_id = $queryId""".query(connection)(end)
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
      .getOrElse(
        throw new IllegalStateException(s"$BoundaryName has no such trigger: ${rows.getString("trigger_mode")}")),
    Option(rows.getString("offsets_hash")),
    rows.getInt("task_partition") -> Position.parse(rows.getLong("delivered"), rows.getString("digest")))

  /** Makes the boundary the only one of its query, and its ends what is stored. */
  def anchor(connection: Connection, run: BulkRun, queryId: String, at: Boundary): Unit = {
    end(connection, run.sinkId, queryId)
    at.ends.toSeq.sortBy(_._1).foreach { case (partition, position) =>
      sql"""INSERT INTO $progress (sink_id, query_id, task_partition, generation, run_id, applied, digest, updated_at)
         |VALUES (${run.sinkId}, $queryId, $partition, ${run.generation}, ${run.runId}, ${position.rows}, ${position.hex}, $now)"""
        .run(connection)
    }
    write(connection, run.sinkId, queryId, at)
  }

  /** Notes which offsets were logged for a boundary. */
  def note(connection: Connection, sinkId: String, queryId: String, epoch: Long, offsetsHash: String): Unit =
    sql"""UPDATE $boundary SET offsets_hash = $offsetsHash
       |WHERE sink_id = $sinkId AND query_id = $queryId AND epoch = $epoch""".run(connection)

  /** Forgets all of a query. */
  def end(connection: Connection, sinkId: String, queryId: String): Unit = Seq(progress, boundary).foreach(table =>
    sql"DELETE FROM $table WHERE sink_id = $sinkId AND query_id = $queryId".run(connection))

  /** Forgets all of a sink. */
  def forget(connection: Connection, sinkId: String): Unit =
    Seq(progress, boundary).foreach(table => sql"DELETE FROM $table WHERE sink_id = $sinkId".run(connection))

  /** Whether anything is kept of a sink. */
  def knows(connection: Connection, sinkId: String): Boolean =
    sql"SELECT task_partition FROM $progress WHERE sink_id = $sinkId".query(connection)(_.getLong(1)).nonEmpty

  /** Puts a boundary in the place of an earlier one of its epoch, and drops those that no restart goes back to. */
  def record(connection: Connection, sinkId: String, queryId: String, at: Boundary): Unit = {
    sql"""DELETE FROM $boundary WHERE sink_id = $sinkId AND query_id = $queryId
       |AND (epoch = ${at.epoch} OR epoch < ${at.epoch - Kept + 1})""".run(connection)
    write(connection, sinkId, queryId, at)
  }

  private def write(connection: Connection, sinkId: String, queryId: String, at: Boundary): Unit =
    at.ends.toSeq.sortBy(_._1).foreach { case (partition, position) =>
      sql"""INSERT INTO $boundary (sink_id, query_id, task_partition, epoch, trigger_mode, offsets_hash, delivered, digest)
         |VALUES ($sinkId, $queryId, $partition, ${at.epoch}, ${at.trigger.name}, ${at.offsetsHash}, ${position.rows}, ${position.hex})"""
        .run(connection)
    }

  /** The row of a task partition, locked until the transaction ends. */
  def partition(connection: Connection, sinkId: String, queryId: String, partition: Int): Option[PartitionProgress] = {
    val where = sql"WHERE sink_id = $sinkId AND query_id = $queryId AND task_partition = $partition"
    if (words.locksByUpdate) sql"UPDATE $progress SET applied = applied $where".run(connection)
    sql"SELECT generation, run_id, applied, digest, failed FROM $progress $where$forUpdate"
      .query(connection)(rows =>
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
    val table = run.table.table
    val same =
      table.target.oid.fold("")(oid => s" AND ${words.same(oid.toString, dialect.catalog.identitySql(table.name))}")
    sql"""UPDATE $progress SET applied = ${to.rows}, digest = ${to.hex}, updated_at = $now
       |WHERE sink_id = ${run.sinkId} AND query_id = $queryId AND task_partition = $partition
       |AND generation = ${run.generation} AND run_id = ${run.runId}
       |AND applied = ${from.rows} AND digest = ${from.hex} AND failed IS NULL${Sql.raw(same)}
       |AND ${Sql.raw(dialect.catalog.shapeSql(run.table))} = ${run.shape}""".update(connection) == 1L
  }

  /** Lets no task of a run store rows any more. */
  def fail(connection: Connection, run: BulkRun, reason: String): Unit =
    sql"""UPDATE $progress SET failed = ${reason.take(LongestReason)}
       |WHERE sink_id = ${run.sinkId} AND generation = ${run.generation} AND run_id = ${run.runId}""".run(connection)
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
