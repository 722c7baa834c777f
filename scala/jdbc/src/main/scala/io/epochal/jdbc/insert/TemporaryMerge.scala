package io.epochal.jdbc.insert

import java.sql.Connection

import io.epochal.jdbc.database.{BoundColumn, BoundTable, Loaded, WriteMode}
import io.epochal.jdbc.sql.Sql
import io.epochal.jdbc.sql.SqlText._

/** An upsert, or changes, by way of a temporary table: rows of the same key are told apart there before any of them replaces
  * another.
  *
  * @param incoming
  *   SQL of the temporary table, with the columns of [[BoundTable.incoming]] under their names
  */
abstract class TemporaryMerge(quote: String => String, incoming: String) {

  /** Makes it, empty. */
  protected def create(connection: Connection, table: BoundTable): Unit

  /** Brings its rows into the target, of each key the greatest by the order.
    *
    * @param rows
    *   how many it has
    * @param distinct
    *   how many different keys
    */
  protected def merge(
      connection: Connection,
      table: BoundTable,
      upsert: WriteMode.Upsert,
      rows: Long,
      distinct: Long): Loaded

  protected def drop(connection: Connection): Unit

  /** @param rows
    *   how many `fill` puts into the temporary table
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

  /** SQL for a column by which rows of the temporary table are sorted: texts by their bytes in UTF-8, as Spark sorts them. */
  protected def sorted(column: BoundColumn): String = quote(column.column.name)

  /** The rows to keep, each once: a relation for FROM. Of those that no order tells apart one that is stored comes before
    * one that deletes.
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
