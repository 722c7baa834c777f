package io.epochal.spark.sink.jdbc.postgres

import java.sql.Connection

import scala.util.Using

import io.epochal.spark.sink.jdbc.{BoundTable, Loaded, Sql, WriteMode}

/** Brings rows that lie in another relation of the same database into the target by their keys.
  *
  * Rows go in the order of the key: two sinks that upsert the same keys then wait for each other and never deadlock.
  */
private[postgres] object PostgresMerge {

  /** @param source
    *   SQL of the relation, with the table's columns under their names
    * @param rows
    *   how many rows it has
    */
  def apply(
      connection: Connection,
      table: BoundTable,
      upsert: WriteMode.Upsert,
      source: String,
      rows: Long
  ): Loaded = {
    val target = PostgresDialect.quote(table.table.name)
    val names = list(table.columnNames)
    val keys = list(upsert.keys)
    val order = upsert.order.fold("")(column => s", ${quote(column)} DESC NULLS LAST")
    // A row that is all key must still count as stored.
    val updated = if (table.columnNames.toSet == upsert.keys.toSet) upsert.keys else table.columnNames.diff(upsert.keys)
    val stored = Sql.update(
      connection,
      s"""INSERT INTO $target ($names)
         |SELECT DISTINCT ON ($keys) $names FROM $source ORDER BY $keys$order
         |ON CONFLICT ($keys) DO UPDATE SET ${updated
          .map(c => s"${quote(c)} = EXCLUDED.${quote(c)}")
          .mkString(", ")}""".stripMargin
    )
    if (stored == rows) Loaded.Rows(stored, stored)
    else {
      val distinct =
        Sql.query(connection, s"SELECT count(*) FROM (SELECT DISTINCT $keys FROM $source) AS k")(_.getLong(1)).head
      if (distinct < rows && upsert.order.isEmpty) Loaded.DuplicateKeys(duplicates(connection, source, keys))
      else Loaded.Rows(stored, distinct)
    }
  }

  /** An empty temporary table for the target's rows: the relation's SQL. */
  def incoming(connection: Connection, table: BoundTable): String = {
    val columns = list(table.columnNames)
    execute(
      connection,
      s"""CREATE TEMPORARY TABLE $Incoming ON COMMIT DROP AS
         |SELECT $columns FROM ${PostgresDialect.quote(table.table.name)} WITH NO DATA""".stripMargin
    )
    Incoming
  }

  private def duplicates(connection: Connection, source: String, keys: String): Long =
    Sql
      .query(
        connection,
        s"SELECT COALESCE(sum(n), 0) FROM (SELECT count(*) AS n FROM $source GROUP BY $keys HAVING count(*) > 1) AS d"
      )(_.getLong(1))
      .head

  private def execute(connection: Connection, sql: String): Unit =
    Using.resource(connection.createStatement())(_.execute(sql)): Unit

  private def quote(name: String): String = PostgresDialect.quote(name)
  private def list(names: Seq[String]): String = names.map(quote).mkString(", ")

  private val Incoming = "pg_temp.epochal_incoming"
}
