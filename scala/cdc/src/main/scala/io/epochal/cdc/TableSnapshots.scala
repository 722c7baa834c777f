package io.epochal.cdc

import io.epochal.cdc.change._
import io.epochal.cdc.pgoutput.Bytes
import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.snapshot.{ContainedChanges, ContainedInTables, CopiedTable, Snapshot, TableKey}
import io.epochal.cdc.value.TypeText
import io.epochal.core.error.Conditions
import io.epochal.kit.database.Sql

/** The snapshots of a query's tables. */
final private[cdc] class TableSnapshots(plan: CapturePlan, origin: CdcOrigin) {
  import TableSnapshots._
  import plan.{binary, options, server, tables, threads, watch}

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
  def expectedRows(of: Seq[CdcTable]): Long = server.sql { connection =>
    of.map { table =>
      val plan =
        Sql.query(connection, s"EXPLAIN (FORMAT JSON) SELECT FROM ${table.facts.rows}")(_.getString(1)).mkString
      PlanRows.findFirstMatchIn(plan).fold(0L)(_.group(1).toLong)
    }.sum
  }

  /** The snapshot of a table, which begins where a state ends.
    *
    * @throws EpochalException
    *   SNAPSHOT_INTERRUPTED, if a stopped run has copied some rows, and the rest cannot be determined
    */
  def of(of: CdcTable, state: ChangeState, store: ChangeFrame => Unit, pause: () => Unit): Snapshot = {
    val CdcTable(table, columns) = of
    val key = TableKey.of(table, columns)
    if (state.snapshot(number(of)).ranges.nonEmpty && key.isEmpty)
      throw Conditions.SnapshotInterrupted("table" -> table.name)
    val relation =
      Relation.of(table.oid.toInt, table.schema, table.table, table.identity.head, DefinitionCheck.columnsOf(of))
    val source = CopiedTable(
      number(of),
      table,
      if (tables.isGeneric) relation.withTypes(TypeText.write(columns.map(column => Some(column.kind)))) else relation,
      columns.map(column =>
        if (binary) Sql.quoted(column.name) else TableKey.printed(Sql.quoted(column.name), column.kind)),
      binary,
      key
    )
    val check = new DefinitionCheck(options, server, of, watch).checkUnchanged(_, origin.publication)
    new Snapshot(server, source, origin.start - 1, threads, check, store, pause)
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
  private val PlanRows = "\"Plan Rows\": (\\d+)".r

  /** Keys per query. */
  private val MaxKeys = 5000
}
