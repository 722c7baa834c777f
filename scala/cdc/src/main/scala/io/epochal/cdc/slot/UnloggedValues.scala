package io.epochal.cdc.slot

import java.sql.Connection

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** Values that a new column got in rows from before it: of a DEFAULT, an identity or a sequence. The log does not have them. */
private[cdc] object UnloggedValues {

  /** Refusal of a column with such values, with the UPDATE that writes their rows into the log. Reads the table up to the first such row,
    * unless rows from before can only have NULL.
    *
    * @param newColumns
    *   columns that the changes so far did not have
    */
  def refusal(connection: Connection, table: TableFacts, newColumns: Seq[String]): Option[EpochalException] =
    newColumns.find(hasOldValue(connection, table, _)).map { column =>
      Conditions.TableChanged.withHint(
        s"Write these rows into the log, in one statement or in several: ${update(connection, table, column)}; then start again.")(
        "table" -> table.name,
        "change" -> s"rows from before the column $column have values in it that are not in the log")
    }

  /** Compares rows with the transaction that added the column, or changed it last, if rows from before may have a value in it. */
  private def hasOldValue(connection: Connection, table: TableFacts, column: String): Boolean =
    sql"""WITH change AS (
         |  SELECT a.xmin::text::bigint AS xid FROM pg_attribute a
         |  WHERE a.attrelid = ${table.oid}::bigint::oid AND a.attname = $column AND NOT a.attisdropped AND EXISTS (
         |    SELECT FROM (SELECT a.attrelid AS oid UNION SELECT relid FROM pg_partition_tree(a.attrelid)) f
         |    JOIN pg_class c USING (oid) JOIN pg_attribute m ON m.attrelid = c.oid AND m.attname = a.attname
         |    WHERE m.atthasmissing OR c.relfilenode NOT IN (0, c.oid))
         |)
         |SELECT EXISTS (SELECT FROM change) AND EXISTS (SELECT FROM (
         |  SELECT xmin::text::bigint AS x FROM ${Sql.raw(table.rows)} WHERE ${Sql.raw(
        Sql.quoted(column))} IS NOT NULL) AS r
         |WHERE x < 3 OR (((SELECT xid FROM change) - x) & 4294967295) < 2147483648)"""
      .query(connection)(_.getBoolean(1))
      .head

  /** Sets a column that can be set: the new one, unless it is an identity. */
  private def update(connection: Connection, table: TableFacts, column: String): String = {
    val settable = sql"""SELECT a.attname::text FROM pg_attribute a
         |WHERE a.attrelid = ${table.oid}::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped
         |  AND a.attidentity <> 'a' AND a.attgenerated = ''
         |ORDER BY a.attname <> $column, a.attnum""".query(connection)(_.getString(1)).headOption.getOrElse(column)
    s"UPDATE ${table.rows} SET ${ServerFacts.name(settable)} = ${ServerFacts.name(settable)}"
  }
}
