package io.epochal.spark.sink.jdbc.sqlite

import java.sql.Connection

import io.epochal.spark.sink.jdbc.Loaded
import io.epochal.spark.sink.jdbc.connection.Sql
import io.epochal.spark.sink.jdbc.table.{BoundTable, WriteMode}

/** Brings rows that lie in a temporary table into the target by their keys.
  *
  * SQLite's ON CONFLICT would let the last of several rows with one key win, whichever that is: so they are told apart
  * before.
  */
private[sqlite] object SqliteMerge {

  /** An empty temporary table for the rows: its SQL. */
  def incoming(connection: Connection, table: BoundTable): String = {
    val operation = table.operation.map(o => s", 0 AS ${quote(o.name)}").getOrElse("")
    Sql.update(
      connection,
      s"""CREATE TEMPORARY TABLE $Incoming AS
         |SELECT ${list(table.columnNames)}$operation FROM ${SqliteDialect.quote(
          table.table.name)} WHERE 0""".stripMargin
    ): Unit
    s"temp.$Incoming"
  }

  def drop(connection: Connection): Unit = Sql.update(connection, s"DROP TABLE temp.$Incoming"): Unit

  /** @param rows
    *   how many the temporary table has
    */
  def apply(connection: Connection, table: BoundTable, upsert: WriteMode.Upsert, rows: Long): Loaded = {
    val keys = list(upsert.keys)
    val distinct = one(connection, s"SELECT count(*) FROM (SELECT DISTINCT $keys FROM temp.$Incoming)")
    if (distinct < rows && upsert.order.isEmpty)
      Loaded.DuplicateKeys(
        one(connection, s"SELECT sum(n) FROM (SELECT count(*) AS n FROM temp.$Incoming GROUP BY $keys HAVING n > 1)"))
    else {
      val order = upsert.order.fold(keys)(column => s"${quote(column)} DESC") +
        upsert.operation.fold("")(operation => s", ${quote(operation.name)}")
      val place = quote(table.table.unused("epochal_place"))
      Sql.update(
        connection,
        s"""CREATE TEMPORARY TABLE $Winners AS SELECT * FROM
           |(SELECT *, row_number() OVER (PARTITION BY $keys ORDER BY $order) AS $place FROM temp.$Incoming)
           |WHERE $place = 1""".stripMargin
      ): Unit
      val (deleted, found, kept) = upsert.operation match {
        case None            => (0L, 0L, distinct)
        case Some(operation) => delete(connection, table, keys, quote(operation.name))
      }
      val stored = store(connection, table, upsert, keys)
      Sql.update(connection, s"DROP TABLE temp.$Winners"): Unit
      Loaded.Rows(deleted + stored, found + kept)
    }
  }

  /** Rows deleted, rows that were there to be deleted, and rows that are to be stored. */
  private def delete(connection: Connection, table: BoundTable, keys: String, deletes: String): (Long, Long, Long) = {
    val target = SqliteDialect.quote(table.table.name)
    val gone = s"$target WHERE ($keys) IN (SELECT $keys FROM temp.$Winners WHERE $deletes)"
    val found = one(connection, s"SELECT count(*) FROM $gone")
    val deleted = Sql.update(connection, s"DELETE FROM $gone")
    Sql.update(connection, s"DELETE FROM temp.$Winners WHERE $deletes"): Unit
    (deleted, found, one(connection, s"SELECT count(*) FROM temp.$Winners"))
  }

  private def store(connection: Connection, table: BoundTable, upsert: WriteMode.Upsert, keys: String): Long = {
    val names = list(table.columnNames)
    val updates = upsert.updated.map(c => s"${quote(c)} = excluded.${quote(c)}").mkString(", ")
    Sql.update(
      connection,
      s"""INSERT INTO ${SqliteDialect.quote(table.table.name)} AS t ($names)
         |SELECT $names FROM temp.$Winners WHERE true ORDER BY $keys
         |ON CONFLICT ($keys) DO UPDATE SET $updates""".stripMargin
    )
  }

  private def one(connection: Connection, sql: String): Long = Sql.query(connection, sql)(_.getLong(1)).head
  private def quote(name: String): String = SqliteDialect.quote(name)
  private def list(names: Seq[String]): String = names.map(quote).mkString(", ")

  private val Incoming = "epochal_incoming"
  private val Winners = "epochal_winners"
}
