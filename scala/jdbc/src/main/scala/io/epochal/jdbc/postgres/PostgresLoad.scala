package io.epochal.jdbc.postgres

import java.sql.Connection

import scala.util.Using

import io.epochal.jdbc.database.{BoundTable, Loaded, PreparedLoad, WriteMode}
import io.epochal.kit.database.Sql
import io.epochal.kit.sink.row.EncodedRows

/** Loads encoded rows into a table by one binary COPY: directly, or, if they replace others, through a temporary table. */
private[postgres] object PostgresLoad {

  def apply(connection: Connection, table: BoundTable, rows: EncodedRows): Loaded = table.mode match {
    case WriteMode.Append =>
      Loaded.Rows(append(connection, table, rows), rows.rows)
    case upsert: WriteMode.Upsert =>
      merge(connection, table, upsert, rows, PostgresIncoming.copy(connection, table, rows))
  }

  private def merge(
      connection: Connection,
      table: BoundTable,
      upsert: WriteMode.Upsert,
      rows: EncodedRows,
      from: String): Loaded = {
    val source = if (PostgresIncoming.parses(table)) s"(${PostgresIncoming.typed(table, from)})" else from
    PostgresMerge(connection, table, upsert, source, rows.rows)
  }

  /** Rows of a table that is appended to are copied under the session's path; others have a temporary table. */
  def prepared(table: BoundTable): Option[PreparedLoad] = table.mode match {
    case WriteMode.Append if PostgresIncoming.parses(table) => None
    case WriteMode.Append =>
      Some(new PreparedLoad {
        override val preparation: Seq[Sql] = Seq(SearchPath.OfSession)
        override def undo(connection: Connection): Unit = SearchPath.pin(connection)
        override def apply(connection: Connection, rows: EncodedRows): Loaded =
          Loaded.Rows(copyInto(connection, table, rows), rows.rows)
      })
    case upsert: WriteMode.Upsert =>
      Some(new PreparedLoad {
        override val preparation: Seq[Sql] = Seq(PostgresIncoming.creation(table))
        override def apply(connection: Connection, rows: EncodedRows): Loaded =
          merge(connection, table, upsert, rows, PostgresIncoming.fill(connection, table, rows))
      })
  }

  /** COPY into the table: directly, unless the server has to parse texts. */
  def append(connection: Connection, table: BoundTable, rows: EncodedRows): Long =
    if (PostgresIncoming.parses(table)) move(connection, table, PostgresIncoming.copy(connection, table, rows))
    else
      SearchPath.ofSession(connection)(copyInto(connection, table, rows))

  private def copyInto(connection: Connection, table: BoundTable, rows: EncodedRows): Long =
    copy(connection, PostgresDialect.quote(table.table.name), table.columnNames, rows)

  /** Moves the rows of another relation, and returns how many the server stored. */
  def move(connection: Connection, table: BoundTable, from: String): Long = {
    val columns = table.columnNames.map(PostgresDialect.quote).mkString(", ")
    val rows = PostgresIncoming.typed(table, from)
    PostgresIncoming.parsing(table)(
      SearchPath.update(connection, s"INSERT INTO ${PostgresDialect.quote(table.table.name)} ($columns) $rows"))
  }

  def copy(connection: Connection, into: String, columns: Seq[String], rows: EncodedRows): Long =
    Using.resource(new CopyStream(connection, into, columns)) { copy =>
      rows.chunks.foreach { case (bytes, length) => copy.write(bytes, length) }
      copy.finish()
    }
}
