package io.epochal.cdc

import java.sql.Connection
import java.util.concurrent.TimeUnit.NANOSECONDS
import java.util.concurrent.atomic.AtomicLong

import scala.util.Try

import org.slf4j.LoggerFactory

import io.epochal.cdc.change._
import io.epochal.cdc.pgoutput.Bytes
import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.reload.{ReloadPurpose, Reloads, RequestedRows}
import io.epochal.cdc.slot.ServerFacts
import io.epochal.cdc.snapshot.{ChunkReader, ContainedChanges, ContainedInTables, CopiedTable, Snapshot, TableKey}
import io.epochal.cdc.value.{CatalogColumns, TypeText}
import io.epochal.core.error.Conditions
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** The snapshots of a query's tables. */
final private[cdc] class TableSnapshots(plan: CapturePlan, origin: CdcOrigin) {
  import TableSnapshots._
  import plan.{binary, options, server, tables, threads, watch}

  /** When this run began to copy, the rows from before, and all that are expected. */
  @volatile private var run = Option.empty[(Long, Long, Long)]

  /** The tables whose rows are not all copied. */
  def incomplete(state: ChangeState): Seq[CdcTable] =
    if (!origin.snapshot || state.last.nonEmpty) Nil
    else
      tables.all.filter { table =>
        val isOfFirstStart = !tables.isSeveral || origin.tables.exists(_._2 == table.facts.oid)
        isOfFirstStart && !state.snapshot(number(table)).isComplete
      }

  /** The key of a table's snapshot in the state. */
  private def number(of: CdcTable): Int = if (tables.isSeveral) of.facts.oid.toInt else SnapshotState.OnlyTable

  /** The server's estimate of the rows of some tables. */
  private def expectedRows(of: Seq[CdcTable]): Long = server.sql { connection =>
    of.map { table =>
      val plan =
        Sql.query(connection, s"EXPLAIN (FORMAT JSON) SELECT FROM ${table.facts.rows}")(_.getString(1)).mkString
      PlanRows.findFirstMatchIn(plan).fold(0L)(_.group(1).toLong)
    }.sum
  }

  /** Copies the tables that are left, after a state.
    *
    * @param keep
    *   gets the state after each table
    * @throws EpochalException
    *   SNAPSHOT_INTERRUPTED, if a stopped run has copied some rows of a table, and the rest cannot be determined
    */
  def copy(state: ChangeState, store: ChangeFrame => Unit, pause: () => Unit)(keep: ChangeState => Unit): Unit = {
    val left = incomplete(state)
    val completeRows = state.snapshots.values.filter(_.isComplete).map(_.rows).maxOption.getOrElse(0L)
    run = Some((System.nanoTime(), state.snapshotRows, completeRows + expectedRows(left)))
    left.foldLeft(state) { (before, table) =>
      val source = copyOf(table)
      if (before.snapshot(source.number).ranges.nonEmpty && source.key.isEmpty)
        throw Conditions.SnapshotInterrupted("table" -> table.facts.name)
      val after = snapshot(table, source, store, pause).run(before)
      keep(after)
      after
    }: Unit
  }

  /** The progress of this run. */
  def progress(state: ChangeState): SnapshotProgress = SnapshotProgress(
    math.max(1, origin.tables.size),
    incomplete(state).size,
    state.snapshotRows,
    run.fold(0L)(_._2),
    run.map(_._3),
    run.fold(0.0)(run => (System.nanoTime() - run._1) / 1e9)
  )

  /** Copies a table, or its next chunk, into the files of a reload; see `copy` of [[Reloads]].
    *
    * @throws Reloads.NeedsWholeLoad
    *   the rest of the table cannot be loaded in chunks
    */
  def reload(order: RequestedRows, store: Bytes => Unit): Option[(ServerSnapshot, Option[Chunk])] =
    table(order.request.table).map { table =>
      val purpose = order.request.purpose
      if (order.lastChunk.isEmpty)
        log.info(s"${options.source}: ${purpose.verb} ${table.facts.name}")
      val source = copyOf(table)
      if (purpose != ReloadPurpose.Load) {
        val builder = new FrameBuilder
        builder.beginRows()
        builder.add(RowChange.Truncate, source.relation, None, None)
        builder.end(complete = true): Unit
        store(builder.frame(ChangeState.Empty).payload)
      }
      val rate = options.comparisons.filter(_ => purpose.compares).map(_.rowsPerSecond)
      val rows = new AtomicLong
      lazy val start = System.nanoTime()
      def keep(frame: ChangeFrame): Unit = {
        start: Unit
        store(frame.payload)
        rows.addAndGet(frame.rows.toLong): Unit
      }
      def pause(): Unit = rate.foreach { perSecond =>
        NANOSECONDS.sleep((start + rows.get * 1e9 / perSecond).toLong - System.nanoTime())
      }
      // A sink has its rows by the key that the log follows.
      val key = if (table.facts.followed == table.facts.primaryKey) table.facts.primaryKey else Nil
      val types = if (source.key.isEmpty) Nil else KeyOrder.types(key, source.relation)
      val last = order.lastChunk.filter(chunk => chunk.key == key && chunk.types == types)
      val inChunks = purpose.inChunks && order.inChunks && types.nonEmpty
      if (purpose == ReloadPurpose.Load && order.lastChunk.nonEmpty && (last.isEmpty || !inChunks))
        throw Reloads.NeedsWholeLoad
      if (inChunks) {
        val after = last.flatMap(_.until)
        val reader = new ChunkReader(server, source, checkOf(table), keep, () => pause())
        val (view, until) = reader.copy(after, options.chunkRows, order.isFirstCopy)(order.showsRecentCommits)
        view -> Some(Chunk(key, types, after, until))
      } else {
        val state = snapshot(table, source, keep, () => pause(), awaitsWriters = true).run(ChangeState.Empty)
        val view = state.runs.head
        if (!order.showsRecentCommits(view)) throw ChunkReader.NotVisible
        view -> None
      }
    }

  /** Whether no table is to be read again now, since a standby is too far behind. */
  def waits(): Boolean = options.maxStandbyLag.exists { most =>
    val lag = Try(server.look(connection => Sql.query(connection, StandbyLag)(_.getLong(1)).head))
    val isBehind = !lag.toOption.exists(_ <= most)
    if (isBehind && System.nanoTime() > nextWarning) {
      val reason = lag.fold(_.getMessage, bytes => s"a standby is $bytes bytes behind")
      log.warn(s"${options.source}: no table is compared, reloaded or loaded now: $reason")
      nextWarning = System.nanoTime() + WarningNanos
    }
    isBehind
  }

  private var nextWarning = System.nanoTime()

  /** A captured table as it is now; without columns that were added since the query was planned, unless rows name their columns.
    *
    * @throws EpochalException
    *   TABLE_CHANGED, if it lacks a column that the query reads
    */
  private def table(oid: Long): Option[CdcTable] = server.look { connection =>
    for (table <- ServerFacts.tables(connection, sql"c.oid = $oid").headOption) yield {
      val columns = CatalogColumns.of(connection, Seq(oid), Some(origin.publication))(oid)
      tables.byOid(oid).filterNot(_ => tables.isGeneric).fold(CdcTable(table, columns)) { before =>
        new DefinitionCheck(options, server, before, watch).checkReadable(columns)
        CdcTable(table, columns.filter(column => before.columns.exists(_.name == column.name)))
      }
    }
  }

  private def snapshot(
      of: CdcTable,
      source: CopiedTable,
      store: ChangeFrame => Unit,
      pause: () => Unit,
      awaitsWriters: Boolean = false): Snapshot =
    new Snapshot(server, source, origin.start - 1, threads, checkOf(of), store, pause, awaitsWriters)

  private def checkOf(table: CdcTable): Connection => Unit =
    new DefinitionCheck(options, server, table, watch).checkUnchanged(_, origin.publication)

  private def copyOf(of: CdcTable): CopiedTable = {
    val CdcTable(table, columns) = of
    val relation =
      Relation.of(table.oid.toInt, table.schema, table.table, table.identity.head, DefinitionCheck.columnsOf(of))
    CopiedTable(
      number(of),
      table,
      if (tables.isGeneric) relation.withTypes(TypeText.write(columns.map(column => Some(column.kind)))) else relation,
      columns.map(column =>
        if (binary) Sql.quoted(column.name) else TableKey.printed(Sql.quoted(column.name), column.kind)),
      binary,
      TableKey.of(table, columns)
    )
  }

  /** Which changes the snapshots contain. */
  def view(state: ChangeState): SnapshotView =
    if (tables.isSeveral) new ContainedInTables(state, locate)
    else new ContainedChanges(state.snapshot(SnapshotState.OnlyTable), locate)

  private def locate(target: CapturedTable, rows: Seq[Bytes], bounds: Seq[Seq[String]]): Seq[Int] = {
    val name = target.relation.name
    val CdcTable(table, columns) = tables
      .byOid(Integer.toUnsignedLong(target.relation.oid))
      .getOrElse(throw TableNames.error(s"$name was dropped or left out while its rows were read"))
    val key = TableKey.of(table, columns).getOrElse(throw Conditions.SnapshotInterrupted("table" -> table.name))
    server.look(connection => rows.grouped(MaxKeys).flatMap(key.places(connection, target, _, bounds)).toVector)
  }
}

private object TableSnapshots {
  private val log = LoggerFactory.getLogger(classOf[TableSnapshots])
  private val PlanRows = "\"Plan Rows\": (\\d+)".r

  /** Of the standby that is furthest behind; readers of logical slots are none. */
  private val StandbyLag =
    """SELECT COALESCE(max(pg_current_wal_lsn() - r.replay_lsn), 0)::bigint FROM pg_stat_replication r WHERE NOT EXISTS
      |(SELECT FROM pg_replication_slots s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')""".stripMargin

  private val WarningNanos = 60L * 1000000000L

  /** Keys per query. */
  private val MaxKeys = 5000
}
