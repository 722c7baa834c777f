package io.epochal.jdbc.insert

import java.sql.Connection

import io.epochal.jdbc.database.{BoundTable, Dialect, FeedColumns, WriteMode}
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** Merges rows by key into the target.
  *
  * @param source
  *   SQL of the relation that has the rows; its columns are those of [[BoundTable.incoming]]
  */
abstract class KeyedMerge(
    dialect: Dialect,
    connection: Connection,
    table: BoundTable,
    upsert: WriteMode.Upsert,
    source: String) {

  protected val target: String = dialect.quote(table.table.name)
  protected val names: String = list(table.columnNames)

  /** SQL for the keys, as the target's index compares them. */
  protected def keys: String = list(upsert.keys)

  /** The epoch's rows of a change feed. Asks the database where they were emptied last. */
  protected def feed: Option[Feed] =
    for (operation <- upsert.operation; columns <- operation.feed) yield new Feed(quote(operation.name), columns)

  /** SQL over the rows of a change feed.
    *
    * @param deletes
    *   the boolean of each row
    */
  final protected class Feed(val deletes: String, columns: FeedColumns) {
    private val version = quote(columns.versionName)
    private val unchangedColumn = quote(columns.unchangedName)
    private val key = quote(upsert.keys.head)

    /** The version of the last row that empties the table. */
    val emptied: Option[String] = Sql
      .query(
        connection,
        s"SELECT $version FROM $source AS s WHERE s.$deletes AND s.$key IS NULL ORDER BY ${bytes(version)} DESC LIMIT 1")(
        _.getString(1))
      .headOption

    /** The rows after the one that last emptied the table. */
    val rows: String = {
      val later = emptied.fold("")(last => s" AND ${bytes(version)} > ${literal(last)}")
      s"(SELECT * FROM $source AS s WHERE $key IS NOT NULL$later)"
    }

    /** The last row of each key. */
    val winners: String = latest(rows, "true")

    /** A condition for rows without all columns. */
    val lacks: String = s"$unchangedColumn IS NOT NULL"

    def isPartial: Boolean = count(s"SELECT count(*) FROM $rows AS r WHERE $lacks") > 0

    /** Gives the rows of a table, which has the winners, the values that earlier rows of their keys have. Then updates the target
      * by those that still do not have all columns.
      *
      * @param into
      *   SQL of the table
      * @param equal
      *   compares the keys of `t` and `w`
      * @return
      *   the number of rows that the target has
      */
    def update(into: String, equal: String): Long =
      partial(into, equal).map { case (condition, columns) =>
        val rows = s"(SELECT * FROM $into AS w WHERE $condition)"
        if (columns.isEmpty) count(s"SELECT count(*) FROM $target AS t JOIN $rows AS w ON $equal")
        else updateTarget(columns, rows, equal)
      }.sum

    /** For each set of columns that rows do not have: a condition for these rows as `w`, and the other columns. */
    private def partial(into: String, equal: String): Seq[(String, Seq[String])] = {
      for (bound <- table.columns; mark = literal(FeedColumns.mark(bound.field.name)) if isLeft(into, mark)) {
        val name = quote(bound.column.name)
        val earlier =
          latest(
            rows,
            s"NOT $deletes AND ($unchangedColumn IS NULL OR replace($unchangedColumn, $mark, '') = $unchangedColumn)")
        val sets = Seq(name -> s"t.$name", unchangedColumn -> s"replace(w.$unchangedColumn, $mark, '')")
        run(updateRows(into, sets, earlier, s"$equal AND replace(w.$unchangedColumn, $mark, '') <> w.$unchangedColumn"))
      }
      run(s"UPDATE $into SET $unchangedColumn = NULL WHERE $unchangedColumn = ''")
      Sql
        .query(
          connection,
          s"SELECT DISTINCT $unchangedColumn FROM $into WHERE $unchangedColumn IS NOT NULL AND NOT $deletes")(
          _.getString(1))
        .map { left =>
          val present = table.columns.filterNot(bound => left.contains(FeedColumns.mark(bound.field.name)))
          (s"w.$unchangedColumn = ${literal(left)}", upsert.updated.filter(present.map(_.column.name).contains))
        }
    }

    /** The rows that have all columns. */
    def whole(from: String): String = s"(SELECT * FROM $from AS w WHERE $unchangedColumn IS NULL)"

    private def isLeft(into: String, mark: String): Boolean =
      count(s"SELECT count(*) FROM $into WHERE replace($unchangedColumn, $mark, '') <> $unchangedColumn") > 0

    /** Selects the later image of an update, which does not delete. */
    private def latest(from: String, condition: String): String =
      first(s"$from AS r WHERE $condition", s"${bytes(version)} DESC, $deletes")
  }

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

  /** A text of the feed, in SQL. */
  protected def literal(text: String): String = s"'${text.replace("'", "''")}'"

  /** SQL that sorts a text by its bytes. */
  protected def bytes(column: String): String = column

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
