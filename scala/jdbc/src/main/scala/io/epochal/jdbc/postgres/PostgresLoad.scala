package io.epochal.jdbc.postgres

import java.sql.Connection

import scala.util.Using

import io.epochal.jdbc.database.{BoundTable, Loaded, WriteMode}
import io.epochal.kit.sink.row.EncodedRows

/** Puts encoded rows into a table by one binary COPY: straight, or where they replace others, by way of a temporary table. */
private[postgres] object PostgresLoad {

  def apply(connection: Connection, table: BoundTable, rows: EncodedRows): Loaded = table.mode match {
    case WriteMode.Append =>
      Loaded.Rows(append(connection, table, rows), rows.rows)
    case upsert: WriteMode.Upsert =>
      val incoming = PostgresIncoming.temporary(connection, table)
      copy(connection, incoming, table.incoming, rows): Unit
      PostgresMerge(connection, table, upsert, incoming, rows.rows)
  }

  /** Straight into the table. */
  def append(connection: Connection, table: BoundTable, rows: EncodedRows): Long = SearchPath.ofSession(connection) {
    copy(connection, PostgresDialect.quote(table.table.name), table.columnNames, rows)
  }

  def copy(connection: Connection, into: String, columns: Seq[String], rows: EncodedRows): Long =
    Using.resource(new CopyStream(connection, into, columns)) { copy =>
      rows.chunks.foreach { case (bytes, length) => copy.write(bytes, length) }
      copy.finish()
    }
}
