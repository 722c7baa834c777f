package io.epochal.spark.sink.jdbc.postgres

import java.sql.Connection

import scala.util.Using
import scala.util.control.NonFatal

import org.postgresql.PGConnection

import io.epochal.spark.sink.jdbc.{BoundTable, EncodedRows, Loaded, Sql, WriteMode}

/** Puts encoded rows into a table by one binary COPY. */
private[postgres] object PostgresLoad {

  def apply(connection: Connection, table: BoundTable, rows: EncodedRows): Loaded = {
    val target = PostgresDialect.quote(table.table.name)
    table.mode match {
      case WriteMode.Append         => Loaded.Rows(copy(connection, target, table.columnNames, rows), rows.rows)
      case upsert: WriteMode.Upsert => merge(connection, target, table, upsert, rows)
    }
  }

  private def copy(connection: Connection, target: String, columns: Seq[String], rows: EncodedRows): Long = {
    val in = connection
      .unwrap(classOf[PGConnection])
      .getCopyAPI
      .copyIn(s"COPY $target (${list(columns)}) FROM STDIN (FORMAT binary)")
    try {
      in.writeToCopy(CopyFormat.Header, 0, CopyFormat.Header.length)
      rows.chunks.foreach { case (bytes, length) => in.writeToCopy(bytes, 0, length) }
      in.writeToCopy(CopyFormat.Trailer, 0, CopyFormat.Trailer.length)
      in.endCopy()
    } catch {
      // The reason is the first error; a copy that the server has ended already cannot be cancelled.
      case NonFatal(error) =>
        try if (in.isActive) in.cancelCopy()
        catch { case NonFatal(second) => error.addSuppressed(second) }
        throw error
    }
  }

  /** Rows go into a table of this transaction's own, and from there into the target in the order of the key: two sinks
    * that upsert the same keys then wait for each other and never deadlock.
    */
  private def merge(
      connection: Connection,
      target: String,
      table: BoundTable,
      upsert: WriteMode.Upsert,
      rows: EncodedRows
  ): Loaded = {
    val names = list(table.columnNames)
    val keys = list(upsert.keys)
    execute(connection, s"CREATE TEMPORARY TABLE $Incoming ON COMMIT DROP AS SELECT $names FROM $target WITH NO DATA")
    copy(connection, Incoming, table.columnNames, rows): Unit
    val order = upsert.order.fold("")(column => s", ${quote(column)} DESC NULLS LAST")
    // A row that is all key must still count as stored.
    val updated = if (table.columnNames.toSet == upsert.keys.toSet) upsert.keys else table.columnNames.diff(upsert.keys)
    val stored = Sql.update(
      connection,
      s"""INSERT INTO $target ($names)
         |SELECT DISTINCT ON ($keys) $names FROM $Incoming ORDER BY $keys$order
         |ON CONFLICT ($keys) DO UPDATE SET ${updated
          .map(c => s"${quote(c)} = EXCLUDED.${quote(c)}")
          .mkString(", ")}""".stripMargin
    )
    if (stored == rows.rows) Loaded.Rows(stored, stored)
    else {
      val distinct =
        Sql.query(connection, s"SELECT count(*) FROM (SELECT DISTINCT $keys FROM $Incoming) AS k")(_.getLong(1)).head
      if (distinct < rows.rows && upsert.order.isEmpty) Loaded.DuplicateKeys(duplicates(connection, keys))
      else Loaded.Rows(stored, distinct)
    }
  }

  private def duplicates(connection: Connection, keys: String): Long =
    Sql
      .query(
        connection,
        s"SELECT COALESCE(sum(n), 0) FROM (SELECT count(*) AS n FROM $Incoming GROUP BY $keys HAVING count(*) > 1) AS d"
      )(_.getLong(1))
      .head

  private def execute(connection: Connection, sql: String): Unit =
    Using.resource(connection.createStatement())(_.execute(sql)): Unit

  private def quote(name: String): String = PostgresDialect.quote(name)
  private def list(names: Seq[String]): String = names.map(quote).mkString(", ")

  private val Incoming = "pg_temp.epochal_incoming"
}
