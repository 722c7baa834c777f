package io.epochal.spark.sink.jdbc.sqlite

import java.sql.Connection

import io.epochal.spark.sink.jdbc.insert.{InsertBatches, TemporaryMerge}
import io.epochal.spark.sink.jdbc.{BoundTable, EncodedRows, Loaded, Sql, WriteMode}

/** Puts encoded rows into a table by INSERTs of many rows each. */
private[sqlite] object SqliteLoad {

  private val Incoming = "temp.epochal_incoming"
  private val MaxParameters = 32766
  private val inserts = new InsertBatches(SqliteRules, SqliteDialect.quote, MaxParameters)

  def apply(connection: Connection, table: BoundTable, rows: EncodedRows, batchSize: Int): Loaded =
    table.mode match {
      case WriteMode.Append =>
        Loaded.Rows(inserts.multiRow(connection, target(table), table, rows, batchSize), rows.rows)
      case upsert: WriteMode.Upsert =>
        SqliteMerge(connection, table, upsert, rows.rows)(
          inserts.multiRow(connection, Incoming, table, rows, batchSize))
    }

  private def target(table: BoundTable): String = SqliteDialect.quote(table.table.name.table)

  /** SQLite's ON CONFLICT would let the last of several rows with one key win, whichever that is. */
  private object SqliteMerge extends TemporaryMerge(SqliteDialect.quote, Incoming) {

    override protected def create(connection: Connection, table: BoundTable): Unit =
      Sql.update(
        connection,
        s"CREATE TEMPORARY TABLE epochal_incoming AS SELECT ${list(table.columnNames)} FROM ${target(table)} WHERE 0"): Unit

    override protected def merge(
        connection: Connection,
        table: BoundTable,
        upsert: WriteMode.Upsert,
        unique: Boolean
    ): Long = {
      val names = list(table.columnNames)
      val keys = list(upsert.keys)
      val sets = updated(table, upsert).map(SqliteDialect.quote).map(c => s"$c = excluded.$c").mkString(", ")
      Sql.update(
        connection,
        s"""INSERT INTO ${target(table)} ($names) SELECT $names FROM ${winners(table, upsert)} WHERE true ORDER BY $keys
           |ON CONFLICT ($keys) DO UPDATE SET $sets""".stripMargin
      )
    }

    override protected def drop(connection: Connection): Unit =
      Sql.update(connection, s"DROP TABLE $Incoming"): Unit
  }
}
