package io.epochal.jdbc.insert

import java.sql.{Connection, SQLException}

import scala.annotation.unused

import io.epochal.jdbc.database.{BoundColumn, BoundTable, Dialect, Loaded, Verification, WriteMode}
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** The SQL of a merge that databases write in different ways. For the parameters see [[KeyedMerge]]. */
abstract class MergeSql(
    dialect: Dialect,
    connection: Connection,
    table: BoundTable,
    upsert: WriteMode.Upsert,
    source: String) {
  protected val target: String = dialect.quote(table.table.name)
  protected val names: String = list(table.columnNames)

  /** SQL for the keys, as the target's index compares them. */
  protected def keys: String = list(upsert.keys)

  /** Makes a temporary table of a query's rows, and drops an older one of its name. Returns SQL of it.
    *
    * @param indexes
    *   the columns by which rows are looked up: keys in their order, or a version
    */
  protected def temporary(name: String, query: String, indexes: Seq[Seq[String]]): String

  /** Drops a temporary table. */
  protected def drop(temporary: String): Unit

  /** SQL for whether the columns of `t` and `w` have the same values, bit for bit. */
  protected def identical: String

  /** SQL that compares keys, given by their columns, as the target's index does. */
  protected def same(left: Seq[String], right: Seq[String]): String =
    left.zip(right).map { case (one, other) => s"$one = $other" }.mkString(" AND ")

  /** SQL that updates the rows `w` of a relation by the rows `t` of another.
    *
    * @param sets
    *   columns and their values
    */
  protected def updateRows(into: String, sets: Seq[(String, String)], from: String, condition: String): String =
    s"UPDATE $into AS w SET ${sets.map { case (column, value) => s"$column = $value" }.mkString(", ")} " +
      s"FROM $from AS t WHERE $condition"

  /** Updates rows `t` of the target by rows `w`. Returns how many the target has. */
  protected def updateTarget(columns: Seq[String], rows: String, equal: String): Long =
    write(s"UPDATE $target AS t SET ${updates("w", columns)} FROM $rows AS w WHERE $equal")

  /** Runs a statement that writes the target. */
  protected def write(sql: String): Long = Sql.update(connection, sql)

  /** Corrects the target. What violates a constraint, such as a foreign key to rows of another chunk, is rolled back.
    *
    * @param comparison
    *   which has found the differences
    */
  protected def correct(comparison: Verification)(merge: => Loaded.Rows): Loaded.Rows = {
    val before = connection.setSavepoint()
    try {
      val rows = merge
      checkConstraints()
      rows
    } catch {
      case error: SQLException if isViolation(error) =>
        connection.rollback(before)
        Loaded.Rows(0L, 0L).verifying(Some(comparison.withoutCorrection(Option(error.getMessage).getOrElse(""))))
    }
  }

  /** Checks the constraints that are deferred. */
  protected def checkConstraints(): Unit = ()

  /** Whether rows violate a constraint. */
  protected def isViolation(error: SQLException): Boolean = Sql.state(error).startsWith("23")

  /** A text of the feed, in SQL. */
  protected def literal(text: String): String = s"'${text.replace("'", "''")}'"

  /** SQL that sorts a text by its bytes. */
  protected def bytes(column: String): String = column

  /** SQL that sorts a column of UUIDs, stored as texts of lower case, by their bytes. None: the database sorts them differently.
    *
    * @param name
    *   SQL of the column
    */
  protected def uuidOrder(@unused column: BoundColumn, @unused name: String): Option[String] = None

  /** SQL of the first row of each key.
    *
    * @param from
    *   what follows FROM; the relation is `r`
    */
  protected def first(from: String, order: String): String = {
    val place = quote(table.table.unused("epochal_place"))
    text"""(SELECT ${list(table.incoming)} FROM
       |  (SELECT r.*, row_number() OVER (PARTITION BY $keys ORDER BY $order) AS $place FROM $from) AS o
       |WHERE $place = 1)"""
  }

  protected def distinct: Long = count(distinctSql)
  protected def distinctSql: String = s"SELECT count(*) FROM (SELECT DISTINCT $keys FROM $source AS s) AS k"

  /** The number of rows that share their key with another. */
  protected def duplicates: Long = count(
    s"SELECT COALESCE(sum(n), 0) FROM (SELECT count(*) AS n FROM $source AS s GROUP BY $keys HAVING count(*) > 1) AS d")

  protected def updates(from: String, columns: Seq[String] = upsert.updated): String =
    columns.map(c => s"${quote(c)} = $from.${quote(c)}").mkString(", ")

  protected def quote(name: String): String = dialect.quote(name)
  protected def list(names: Seq[String]): String = names.map(quote).mkString(", ")
  protected def count(sql: String): Long = Sql.query(connection, sql)(_.getLong(1)).head
  protected def run(sql: String): Unit = Sql.run(connection, sql)
}
