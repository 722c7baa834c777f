package io.epochal.jdbc.table

import java.sql.Connection
import java.util.Locale

import io.epochal.jdbc.database.{BoundTable, Dialect}
import io.epochal.jdbc.option.{QualifiedName, TableName}
import io.epochal.jdbc.sql.Sql

/** Columns that the query has and the table lacks (`addColumns`).
  *
  * They are added in the transaction of the first epoch: an epoch that is rolled back leaves the table as it was. Rows are
  * encoded before that, for the types that the columns will have. So the claim tries it: it adds them, looks, and takes them
  * back. An epoch that finds other types than the claim had seen is refused, as for any column (`TARGET_CHANGED`).
  */
private[jdbc] object AddedColumns {

  /** Runs `body` as if the table had the columns already. */
  def tried[A](connection: Connection, dialect: Dialect, table: QualifiedName, columns: Seq[(String, String)])(
      body: => A): A =
    if (columns.isEmpty) body
    else {
      Sql.run(connection, s"SAVEPOINT $Savepoint")
      alter(connection, dialect, table, columns)
      val result = body
      Sql.run(connection, s"ROLLBACK TO SAVEPOINT $Savepoint")
      Sql.run(connection, s"RELEASE SAVEPOINT $Savepoint")
      result
    }

  /** Adds those that are still missing. */
  def add(connection: Connection, dialect: Dialect, name: TableName, bound: BoundTable): Unit =
    if (bound.added.nonEmpty) {
      val there = dialect.find(connection, name).toSeq.flatMap(_.columns).map(_.name.toLowerCase(Locale.ROOT))
      alter(
        connection,
        dialect,
        bound.table.name,
        bound.added.filterNot { case (column, _) => there.contains(column.toLowerCase(Locale.ROOT)) })
    }

  private def alter(
      connection: Connection,
      dialect: Dialect,
      table: QualifiedName,
      columns: Seq[(String, String)]): Unit = columns.foreach { case (column, kind) =>
    Sql.run(connection, s"ALTER TABLE ${dialect.quote(table)} ADD COLUMN ${dialect.quote(column)} $kind")
  }

  private val Savepoint = "epochal_columns"
}
