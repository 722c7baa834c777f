package io.epochal.jdbc.sqlite

import java.sql.Connection

import io.epochal.jdbc.database.{BoundTable, Loaded, WriteMode}
import io.epochal.jdbc.insert.{InsertBatches, TemporaryMerge}
import io.epochal.jdbc.sql.Sql
import io.epochal.jdbc.sql.SqlText._
import io.epochal.kit.sink.row.EncodedRows

/** Loads encoded rows into a table by multi-row INSERTs. */
private[sqlite] object SqliteLoad {

  /** The temporary table for rows that replace others. */
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

/** Merges rows by key. SQLite's ON CONFLICT would let the last of several rows with one key win, in arbitrary order, so duplicates
  * are resolved first.
  */
private[sqlite] object SqliteMerge extends TemporaryMerge(SqliteDialect.quote, SqliteLoad.Incoming) {
  import SqliteLoad.Incoming

  private val Winners = "temp.epochal_winners"

  override protected def create(connection: Connection, table: BoundTable): Unit = {
    val operation = table.operation.map(o => s", 0 AS ${quote(o.name)}").getOrElse("")
    Sql.update(
      connection,
      s"CREATE TABLE $Incoming AS SELECT ${list(table.columnNames)}$operation FROM ${target(table)} WHERE 0"
    ): Unit
  }

  /** Temporary tables lack the target's collations, so these are added explicitly. */
  override protected def keyList(upsert: WriteMode.Upsert): String = upsert.keys
    .map(key => upsert.loose.get(key).fold(quote(key))(loose => s"${quote(key)} ${SqliteCatalog.collated(loose)}"))
    .mkString(", ")

  override protected def drop(connection: Connection): Unit = Sql.update(connection, s"DROP TABLE $Incoming"): Unit

  override protected def merge(
      connection: Connection,
      table: BoundTable,
      upsert: WriteMode.Upsert,
      rows: Long,
      distinct: Long
  ): Loaded = {
    val keys = keyList(upsert)
    Sql.update(connection, s"CREATE TABLE $Winners AS SELECT * FROM ${winners(table, upsert)}"): Unit
    val (deleted, found, kept) = upsert.operation match {
      case None            => (0L, 0L, distinct)
      case Some(operation) => delete(connection, table, keys, quote(operation.name))
    }
    val stored = store(connection, table, upsert, keys)
    Sql.update(connection, s"DROP TABLE $Winners"): Unit
    Loaded.Rows(deleted + stored, found + kept)
  }

  /** Rows that were deleted, rows that should have been, and rows to store. */
  private def delete(connection: Connection, table: BoundTable, keys: String, deletes: String): (Long, Long, Long) = {
    val gone = s"${target(table)} WHERE ($keys) IN (SELECT $keys FROM $Winners WHERE $deletes)"
    val found = one(connection, s"SELECT count(*) FROM $gone")
    val deleted = Sql.update(connection, s"DELETE FROM $gone")
    Sql.update(connection, s"DELETE FROM $Winners WHERE $deletes"): Unit
    (deleted, found, one(connection, s"SELECT count(*) FROM $Winners"))
  }

  private def store(connection: Connection, table: BoundTable, upsert: WriteMode.Upsert, keys: String): Long = {
    val names = list(table.columnNames)
    val updates = upsert.updated.map(c => s"${quote(c)} = excluded.${quote(c)}").mkString(", ")
    Sql.update(
      connection,
      text"""INSERT INTO ${target(table)} AS t ($names)
         |SELECT $names FROM $Winners WHERE true ORDER BY $keys
         |ON CONFLICT ($keys) DO UPDATE SET $updates"""
    )
  }

  private def target(table: BoundTable): String = SqliteDialect.quote(table.table.name)
  private def quote(name: String): String = SqliteDialect.quote(name)
}
