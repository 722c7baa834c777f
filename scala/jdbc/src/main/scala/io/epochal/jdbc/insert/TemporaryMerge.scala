package io.epochal.jdbc.insert

import java.sql.Connection

import io.epochal.jdbc.database.{BoundColumn, BoundTable, Dialect, Loaded, WriteMode}
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** Merges rows by key into the target.
  *
  * @param source
  *   SQL of the relation that has the rows; its columns are those of [[BoundTable.incoming]]
  */
abstract class KeyedMerge(
    dialect: Dialect,
    connection: Connection,
    table: BoundTable,
    upsert: WriteMode.Upsert,
    source: String) {

  protected val target: String = dialect.quote(table.table.name)
  protected val names: String = list(table.columnNames)

  /** SQL for the keys, as the target's index compares them. */
  protected def keys: String = list(upsert.keys)

  protected def distinct: Long = count(s"SELECT count(*) FROM (SELECT DISTINCT $keys FROM $source AS s) AS k")

  /** The number of rows that share their key with another. */
  protected def duplicates: Long = count(
    s"SELECT COALESCE(sum(n), 0) FROM (SELECT count(*) AS n FROM $source AS s GROUP BY $keys HAVING count(*) > 1) AS d")

  protected def updates(from: String): String =
    upsert.updated.map(c => s"${quote(c)} = $from.${quote(c)}").mkString(", ")

  protected def quote(name: String): String = dialect.quote(name)
  protected def list(names: Seq[String]): String = names.map(quote).mkString(", ")
  protected def count(sql: String): Long = Sql.query(connection, sql)(_.getLong(1)).head
  protected def run(sql: String): Unit = Sql.run(connection, sql)
}

/** An upsert, or changes, through a temporary table, where rows of the same key are resolved before any of them replaces a row of
  * the target.
  *
  * @param incoming
  *   SQL of the temporary table
  */
abstract class TemporaryMerge(
    dialect: Dialect,
    connection: Connection,
    table: BoundTable,
    upsert: WriteMode.Upsert,
    incoming: String)
    extends KeyedMerge(dialect, connection, table, upsert, incoming) {

  /** Creates the temporary table, or empties it. */
  protected def create(): Unit

  /** Merges the temporary table's rows into the target: of each key the greatest by the order column.
    *
    * @param rows
    *   number of rows
    * @param distinct
    *   number of distinct keys
    */
  protected def merge(rows: Long, distinct: Long): Loaded

  protected def drop(): Unit

  /** @param rows
    *   number of rows that `fill` puts into the temporary table
    */
  final def apply(rows: Long)(fill: => Long): Loaded = {
    create()
    fill: Unit
    val different = distinct
    val loaded =
      if (different < rows && upsert.order.isEmpty) Loaded.DuplicateKeys(duplicates) else merge(rows, different)
    drop()
    loaded
  }

  /** SQL for a sort expression of the temporary table's column: texts by their UTF-8 bytes, as Spark sorts them. */
  protected def sorted(column: BoundColumn): String = quote(column.column.name)

  /** The row to keep for each key, as a relation for FROM. If the order does not decide, a row that is stored wins over one that
    * deletes.
    */
  protected def winners: String = {
    val order = table.columns.find(c => upsert.order.contains(c.column.name)).fold(keys)(c => s"${sorted(c)} DESC") +
      upsert.operation.fold("")(operation => s", ${quote(operation.name)}")
    val place = quote(table.table.unused("epochal_place"))
    text"""(SELECT ${list(table.incoming)} FROM
       |  (SELECT i.*, row_number() OVER (PARTITION BY $keys ORDER BY $order) AS $place FROM $incoming i) p
       |WHERE $place = 1)"""
  }
}
