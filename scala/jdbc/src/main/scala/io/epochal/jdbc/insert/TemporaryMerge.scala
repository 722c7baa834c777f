package io.epochal.jdbc.insert

import java.sql.Connection

import io.epochal.jdbc.database.{BoundColumn, BoundTable, Loaded, WriteMode}
import io.epochal.jdbc.sql.Sql
import io.epochal.jdbc.sql.SqlText._

/** An upsert, or changes, through a temporary table, where rows of the same key are resolved before any of them replaces a row of
  * the target.
  *
  * @param incoming
  *   SQL of the temporary table, whose columns are those of [[BoundTable.incoming]]
  */
abstract class TemporaryMerge(quote: String => String, incoming: String) {

  /** Creates the temporary table, or empties it. */
  protected def create(connection: Connection, table: BoundTable): Unit

  /** Merges the temporary table's rows into the target: of each key the greatest by the order column.
    *
    * @param rows
    *   number of rows
    * @param distinct
    *   number of distinct keys
    */
  protected def merge(
      connection: Connection,
      table: BoundTable,
      upsert: WriteMode.Upsert,
      rows: Long,
      distinct: Long): Loaded

  protected def drop(connection: Connection): Unit

  /** @param rows
    *   number of rows that `fill` puts into the temporary table
    */
  final def apply(connection: Connection, table: BoundTable, upsert: WriteMode.Upsert, rows: Long)(
      fill: => Long): Loaded = {
    create(connection, table)
    fill: Unit
    val keys = keyList(upsert)
    val distinct = one(connection, s"SELECT count(*) FROM (SELECT DISTINCT $keys FROM $incoming) k")
    val loaded =
      if (distinct < rows && upsert.order.isEmpty)
        Loaded.DuplicateKeys(
          one(
            connection,
            s"SELECT sum(n) FROM (SELECT count(*) AS n FROM $incoming GROUP BY $keys HAVING count(*) > 1) d"))
      else merge(connection, table, upsert, rows, distinct)
    drop(connection)
    loaded
  }

  /** SQL for the keys, as the target's index compares them. */
  protected def keyList(upsert: WriteMode.Upsert): String = list(upsert.keys)

  /** SQL for a sort expression of the temporary table's column: texts by their UTF-8 bytes, as Spark sorts them. */
  protected def sorted(column: BoundColumn): String = quote(column.column.name)

  /** The row to keep for each key, as a relation for FROM. If the order does not decide, a row that is stored wins over one that
    * deletes.
    */
  protected def winners(table: BoundTable, upsert: WriteMode.Upsert): String = {
    val keys = keyList(upsert)
    val order = table.columns.find(c => upsert.order.contains(c.column.name)).fold(keys)(c => s"${sorted(c)} DESC") +
      upsert.operation.fold("")(operation => s", ${quote(operation.name)}")
    val place = quote(table.table.unused("epochal_place"))
    text"""(SELECT ${list(table.incoming)} FROM
       |  (SELECT i.*, row_number() OVER (PARTITION BY $keys ORDER BY $order) AS $place FROM $incoming i) p
       |WHERE $place = 1)"""
  }

  protected def list(names: Seq[String]): String = names.map(quote).mkString(", ")

  protected def one(connection: Connection, sql: String): Long = Sql.query(connection, sql)(_.getLong(1)).head
}
