package io.epochal.jdbc.commit

import java.sql.{Connection, ResultSet}

import io.epochal.core.ledger.{Boundary, Position, Progress, TriggerMode}
import io.epochal.jdbc.database.{BulkRun, Dialect, Trust}
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** The tables beside the ledger that record rows stored in the middle of epochs; `docs/PROTOCOL.md` lists their columns.
  *
  *   - `epochal_ledger_progress`: one row per task partition of a query: how far its rows are stored, and which run may store
  *     more. A task advances it in the transaction of the rows
  *   - `epochal_ledger_boundary`: where the partitions stood at the end of the latest epochs. The driver writes it, holding the
  *     lock of the ledger's row
  *
  * All methods run in the connection's open transaction. Generation and run id in the row itself decide who may write: a claim writes its
  * own.
  */
private[jdbc] class ProgressTable(dialect: Dialect, trust: Trust, connection: Connection, sinkId: String)
    extends KeptTables(dialect, trust) {
  import ProgressTable._

  private val progress = quoted(ProgressName)
  private val boundary = quoted(BoundaryName)

  /** Whether the tables exist; an untrusted one is an error. */
  def exists: Boolean = Names.forall(exists(connection, _))

  /** Creates the tables. Claims are serialized, so no two create them concurrently. */
  def create(): Unit = {
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

  /** Waits for the sink's running flushes, and blocks new ones until the transaction ends. */
  def lock(): Unit = {
    if (words.locksByUpdate) sql"UPDATE $progress SET applied = applied WHERE sink_id = $sinkId".run(connection)
    sql"SELECT applied FROM $progress WHERE sink_id = $sinkId$forUpdate".query(connection)(_.getLong(1)): Unit
  }

  /** Fences earlier runs: they can store nothing more. */
  def claim(generation: Long, runId: String): Unit =
    sql"UPDATE $progress SET generation = $generation, run_id = $runId, failed = NULL WHERE sink_id = $sinkId"
      .run(connection)

  /** A query's progress and boundaries. */
  def read(queryId: String): Progress = {
    val positions =
      sql"SELECT task_partition, applied, digest FROM $progress WHERE sink_id = $sinkId AND query_id = $queryId"
        .query(connection)(rows => rows.getInt(1) -> Position.parse(rows.getLong(2), rows.getString(3)))
    val ends =
      sql"""SELECT epoch, trigger_mode, offsets_hash, task_partition, delivered, digest FROM $boundary
         |WHERE sink_id = $sinkId AND query_id = $queryId""".query(connection)(end)
    val boundaries = ends.groupBy(_._1).map { case (epoch, all) =>
      val (_, trigger, hash, _) = all.head
      Boundary(epoch, trigger, hash, all.map(_._4).toMap)
    }
    Progress(boundaries.toSeq.sortBy(_.epoch), positions.toMap)
  }

  private def end(rows: ResultSet): (Long, TriggerMode, Option[String], (Int, Position)) = (
    rows.getLong("epoch"),
    trigger(rows),
    Option(rows.getString("offsets_hash")),
    rows.getInt("task_partition") -> Position.parse(rows.getLong("delivered"), rows.getString("digest")))

  /** Makes the boundary the query's only one, and sets the stored positions to its ends. */
  def anchor(run: BulkRun, queryId: String, at: Boundary): Unit = {
    end(queryId)
    at.ends.toSeq.sortBy(_._1).foreach { case (partition, position) =>
      sql"""INSERT INTO $progress (sink_id, query_id, task_partition, generation, run_id, applied, digest, updated_at)
         |VALUES ($sinkId, $queryId, $partition, ${run.generation}, ${run.runId}, ${position.rows}, ${position.hex}, $now)"""
        .run(connection)
    }
    write(queryId, at)
  }

  /** Records the hash of the offsets that were logged for a boundary. */
  def note(queryId: String, epoch: Long, offsetsHash: String): Unit =
    sql"""UPDATE $boundary SET offsets_hash = $offsetsHash
       |WHERE sink_id = $sinkId AND query_id = $queryId AND epoch = $epoch""".run(connection)

  /** Deletes everything about a query. */
  def end(queryId: String): Unit = Seq(progress, boundary).foreach(table =>
    sql"DELETE FROM $table WHERE sink_id = $sinkId AND query_id = $queryId".run(connection))

  /** Deletes everything about a sink. */
  def forget(): Unit =
    Seq(progress, boundary).foreach(table => sql"DELETE FROM $table WHERE sink_id = $sinkId".run(connection))

  /** Whether anything is recorded for a sink. */
  def knows: Boolean =
    sql"SELECT task_partition FROM $progress WHERE sink_id = $sinkId".query(connection)(_.getLong(1)).nonEmpty

  /** Replaces an earlier boundary of the same epoch, and deletes those that no restart returns to. */
  def record(queryId: String, at: Boundary): Unit = {
    sql"""DELETE FROM $boundary WHERE sink_id = $sinkId AND query_id = $queryId
       |AND (epoch = ${at.epoch} OR epoch < ${at.epoch - Kept + 1})""".run(connection)
    write(queryId, at)
  }

  private def write(queryId: String, at: Boundary): Unit =
    at.ends.toSeq.sortBy(_._1).foreach { case (partition, position) =>
      sql"""INSERT INTO $boundary (sink_id, query_id, task_partition, epoch, trigger_mode, offsets_hash, delivered, digest)
         |VALUES ($sinkId, $queryId, $partition, ${at.epoch}, ${at.trigger.name}, ${at.offsetsHash}, ${position.rows}, ${position.hex})"""
        .run(connection)
    }

  /** The row of a task partition, locked until the transaction ends. */
  def partition(queryId: String, partition: Int): Option[PartitionProgress] = {
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

  /** Advances a task partition, provided that it stands where the task expects it, that the run may write, and that the table and
    * its column types are still those that the rows were encoded for.
    *
    * @param place
    *   of the row, if a call returned it; the row may have moved since then
    * @return
    *   the row's place now, empty where rows have none; None if not: the transaction must be rolled back
    */
  def advance(
      run: BulkRun,
      queryId: String,
      partition: Int,
      from: Position,
      to: Position,
      place: Option[String]): Option[String] = {
    val table = run.table.table
    val same =
      table.target.oid.fold("")(oid => s" AND ${words.same(oid.toString, dialect.catalog.identitySql(table.name))}")
    val update =
      sql"""UPDATE $progress SET applied = ${to.rows}, digest = ${to.hex}, updated_at = $now
         |WHERE sink_id = $sinkId AND query_id = $queryId AND task_partition = $partition
         |AND generation = ${run.generation} AND run_id = ${run.runId}
         |AND applied = ${from.rows} AND digest = ${from.hex} AND failed IS NULL${Sql.raw(same)}
         |AND ${Sql.raw(dialect.catalog.shapeSql(run.table))} = ${run.shape}"""
    words.place.map(Sql.raw) match {
      case None => Option.when(update.update(connection) == 1L)("")
      case Some(column) =>
        def move(to: Sql): Option[String] =
          sql"$update$to RETURNING $column".query(connection)(_.getString(1)).headOption
        place.flatMap(oldPlace => move(sql" AND $column = CAST($oldPlace AS tid)")).orElse(move(sql""))
    }
  }

  /** Stops all tasks of a run from storing rows. */
  def fail(run: BulkRun, reason: String): Unit =
    sql"""UPDATE $progress SET failed = ${run.table.table.storable(reason.take(LongestReason))}
       |WHERE sink_id = $sinkId AND generation = ${run.generation} AND run_id = ${run.runId}""".run(connection)
}

/** The stored progress of one task partition.
  *
  * @param failed
  *   why the run may store nothing more
  */
final private[jdbc] case class PartitionProgress(
    generation: Long,
    runId: String,
    applied: Position,
    failed: Option[String])

private[commit] object ProgressTable {
  private val ProgressName = "epochal_ledger_progress"
  private val BoundaryName = "epochal_ledger_boundary"
  val Names: Seq[String] = Seq(ProgressName, BoundaryName)

  /** Epochs whose boundaries are kept: a restart returns to the one before the last. */
  private val Kept = 3L
  private val LongestReason = 200
}
