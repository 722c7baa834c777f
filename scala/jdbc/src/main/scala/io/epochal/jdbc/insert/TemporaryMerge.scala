package io.epochal.jdbc.insert

import java.sql.Connection

import io.epochal.jdbc.database.{BoundColumn, BoundTable, Dialect, Loaded, WriteMode}

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
    val result =
      if (different < rows && upsert.order.isEmpty && !upsert.operation.exists(_.feed.nonEmpty))
        Loaded.DuplicateKeys(duplicates)
      else merge(rows, different)
    drop()
    result
  }

  /** SQL for a sort expression of the temporary table's column: texts by their UTF-8 bytes, as Spark sorts them. */
  protected def sorted(column: BoundColumn): String = quote(column.column.name)

  /** The row to keep for each key, as a relation for FROM. If the order does not decide, a row that is stored wins over one that
    * deletes.
    */
  protected def winners: String = {
    val order = table.columns.find(c => upsert.order.contains(c.column.name)).fold(keys)(c => s"${sorted(c)} DESC") +
      upsert.operation.fold("")(operation => s", ${quote(operation.name)}")
    first(s"$incoming AS r", order)
  }
}
