package io.epochal.spark.sink.jdbc.insert

import java.sql.Connection

import io.epochal.spark.sink.jdbc.Loaded
import io.epochal.spark.sink.jdbc.connection.Sql
import io.epochal.spark.sink.jdbc.table.{BoundTable, WriteMode}

/** An upsert by way of a temporary table: rows of the same key are told apart there before any of them replaces another.
  *
  * @param incoming
  *   SQL of the temporary table, with the target's columns under their names
  */
abstract class TemporaryMerge(quote: String => String, incoming: String) {

  /** Makes it, empty. */
  protected def create(connection: Connection, table: BoundTable): Unit

  /** Brings its rows into the target, of each key the greatest by the order.
    *
    * @param unique
    *   whether every key is there once
    * @return
    *   how many rows the database says were stored
    */
  protected def merge(connection: Connection, table: BoundTable, upsert: WriteMode.Upsert, unique: Boolean): Long

  protected def drop(connection: Connection): Unit

  /** @param rows
    *   how many `fill` puts into the temporary table
    */
  final def apply(connection: Connection, table: BoundTable, upsert: WriteMode.Upsert, rows: Long)(
      fill: => Long): Loaded = {
    create(connection, table)
    fill: Unit
    val keys = list(upsert.keys)
    val distinct = one(connection, s"SELECT count(*) FROM (SELECT DISTINCT $keys FROM $incoming) k")
    val loaded =
      if (distinct < rows && upsert.order.isEmpty)
        Loaded.DuplicateKeys(
          one(
            connection,
            s"SELECT sum(n) FROM (SELECT count(*) AS n FROM $incoming GROUP BY $keys HAVING count(*) > 1) d"))
      else Loaded.Rows(merge(connection, table, upsert, unique = distinct == rows), distinct)
    drop(connection)
    loaded
  }

  /** The rows to keep, each once: a relation for FROM. */
  protected def winners(table: BoundTable, upsert: WriteMode.Upsert): String = {
    val keys = list(upsert.keys)
    val order = upsert.order.fold(keys)(column => s"${quote(column)} DESC")
    val place = quote(table.table.unused("epochal_place"))
    s"""(SELECT ${list(table.columnNames)} FROM
       |  (SELECT i.*, row_number() OVER (PARTITION BY $keys ORDER BY $order) AS $place FROM $incoming i) p
       |WHERE $place = 1)""".stripMargin
  }

  protected def list(names: Seq[String]): String = names.map(quote).mkString(", ")

  protected def one(connection: Connection, sql: String): Long = Sql.query(connection, sql)(_.getLong(1)).head
}
