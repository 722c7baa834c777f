package io.epochal.jdbc.sqlite

import java.sql.Connection

import io.epochal.jdbc.database.{BoundTable, Loaded, WriteMode}
import io.epochal.jdbc.insert.InsertBatches
import io.epochal.kit.sink.row.EncodedRows

/** Puts encoded rows into a table by INSERTs of many rows each. */
private[sqlite] object SqliteLoad {

  /** Where rows that replace others come first. */
  final val Incoming = "temp.epochal_incoming"

  private val MaxParameters = 32766
  private val inserts = new InsertBatches(SqliteRules, SqliteDialect.quote, MaxParameters)

  def apply(connection: Connection, table: BoundTable, rows: EncodedRows, batchSize: Int): Loaded =
    table.mode match {
      case WriteMode.Append =>
        val target = SqliteDialect.quote(table.table.name)
        Loaded.Rows(inserts.multiRow(connection, target, table, rows, batchSize), rows.rows)
      case upsert: WriteMode.Upsert =>
        SqliteMerge(connection, table, upsert, rows.rows)(
          inserts.multiRow(connection, Incoming, table, rows, batchSize))
    }
}
