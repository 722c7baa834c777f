package io.epochal.jdbc.postgres

import java.sql.{Connection, SQLException}

import io.epochal.jdbc.database.{BoundTable, Loaded, OperationColumn, WriteMode}
import io.epochal.jdbc.sql.Sql
import io.epochal.jdbc.sql.SqlText._

/** Brings rows that lie in another relation of the same database into the target by their keys.
  *
  * Rows are locked in the order of the key: two sinks that upsert the same keys then wait for each other and never deadlock.
  */
private[postgres] object PostgresMerge {

  /** @param source
    *   SQL of the relation, with the columns of [[BoundTable.incoming]] under their names: a table, or a query in brackets
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
    val many = rows > Many
    val merge = new PostgresMerge(connection, table, upsert, source, many)
    if (many) merge.execute(s"SET LOCAL work_mem = '$SortMemory'; SET LOCAL jit = off")
    upsert.operation match {
      case None            => merge.store(rows)
      case Some(operation) => merge.change(operation, rows)
    }
  }

  /** What a sort may take before it goes to disk. It is the driver's one connection that sorts, one sort at a time. */
  private val SortMemory = "256MB"
  private val Many = 10000L

  private val Numbers = Set("smallint", "integer", "bigint")

  private val CardinalityViolation = "21000"
  private val UniqueViolation = "23505"
  private val FirstWithMerge = 15
}

/** @param many
  *   it pays to plan for many rows
  */
final private class PostgresMerge(
    connection: Connection,
    table: BoundTable,
    upsert: WriteMode.Upsert,
    source: String,
    many: Boolean) {
  import PostgresMerge._

  private val target = PostgresDialect.quote(table.table.name)
  private val names = list(table.columnNames)
  private val keys = list(upsert.keys)

  private def store(rows: Long): Loaded =
    if (upsert.order.isDefined) {
      val stored = insert(winners)
      Loaded.Rows(stored, if (stored == rows) rows else distinct)
    } else storeDistinct(rows)

  /** The server itself refuses to touch a row twice: so keys need not be told apart before. */
  private def storeDistinct(rows: Long): Loaded = {
    val before = connection.setSavepoint()
    try Loaded.Rows(insert(source), rows)
    catch {
      case error: SQLException if error.getSQLState == CardinalityViolation =>
        connection.rollback(before)
        val equal = duplicates
        if (equal == 0) throw error else Loaded.DuplicateKeys(equal)
    }
  }

  /** Rows of the target that are to change are locked first, all in one order, whatever becomes of them. */
  private def change(operation: OperationColumn, rows: Long): Loaded = {
    val deletes = quote(operation.name)
    val different = distinct
    if (different < rows && upsert.order.isEmpty) Loaded.DuplicateKeys(duplicates)
    else {
      val from = if (different < rows) winners else source
      val removing = count(s"SELECT count(*) FROM $from AS w WHERE w.$deletes")
      val (found, deleted) = if (removing == 0) (0L, 0L) else delete(from, deletes)
      val stored = insert(s"(SELECT * FROM $from AS w WHERE NOT w.$deletes)")
      // Between the two statements somebody may have committed a row of a key that goes.
      Loaded.Rows(stored + deleted, different - removing + math.max(found, deleted))
    }
  }

  /** Rows that were there to be deleted, and rows that were. A key that is not there is nothing to delete. */
  private def delete(from: String, deletes: String): (Long, Long) = {
    val ordered = upsert.keys.map(key => s"t.${quote(key)}").mkString(", ")
    val found = count(text"""SELECT count(*) FILTER (WHERE $deletes) FROM (
         |  SELECT w.$deletes FROM $target AS t JOIN $from AS w ON $same ORDER BY $ordered FOR UPDATE OF t) AS l""")
    (found, write(s"DELETE FROM $target AS t USING $from AS w WHERE $same AND w.$deletes"))
  }

  /** MERGE is faster, but takes a key that somebody else adds meanwhile for an error. */
  private def insert(from: String): Long =
    if (many && mergeable) {
      val before = connection.setSavepoint()
      try merge(from)
      catch {
        case error: SQLException if error.getSQLState == UniqueViolation =>
          connection.rollback(before)
          insertOrUpdate(from)
      }
    } else insertOrUpdate(from)

  /** The server has MERGE, and the table none of the rules with which it is refused. */
  private def mergeable: Boolean =
    connection.getMetaData.getDatabaseMajorVersion >= FirstWithMerge &&
      count(
        s"SELECT count(*) FROM pg_class WHERE oid = ${PostgresCatalog.identitySql(table.table.name)} AND relhasrules") == 0

  private def insertOrUpdate(from: String): Long =
    write(text"""INSERT INTO $target AS t ($names) SELECT $names FROM $from AS w ORDER BY $keys
         |ON CONFLICT ($keys) DO UPDATE SET ${updates("EXCLUDED")}""")

  /** A nested loop comes to the target's rows in the order of the source's, a merge join in that of the key: with several
    * columns in an order of its own.
    */
  private def merge(from: String): Long = {
    execute(
      s"SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = ${if (upsert.keys.size == 1) "on" else "off"}")
    val values = table.columnNames.map(column => s"w.${quote(column)}").mkString(", ")
    val condition = s"$same$near"
    val merged = write(
      text"""MERGE INTO $target AS t USING (SELECT * FROM $from AS s ORDER BY $keys) AS w ON $condition
         |WHEN MATCHED THEN UPDATE SET ${updates("w")}
         |WHEN NOT MATCHED THEN INSERT ($names) VALUES ($values)"""
    )
    execute("SET LOCAL enable_hashjoin TO DEFAULT; SET LOCAL enable_mergejoin TO DEFAULT")
    merged
  }

  private lazy val same: String = SearchPath.equal(connection, target, upsert.keys)

  /** Runs a statement that changes the target. Under its path every function and operator needs its schema. */
  private def write(sql: String): Long = SearchPath.ofSession(connection)(Sql.update(connection, sql))

  /** Where the rows can only meet those of the target between two keys, the server need not read the others. */
  private def near: String = upsert.keys match {
    case Seq(key) if table.columns.exists(c => c.column.name == key && Numbers(c.column.columnType.declared)) =>
      val name = quote(key)
      Sql
        .query(connection, s"SELECT min($name), max($name) FROM $source AS s")(row => row.getLong(1) -> row.getLong(2))
        .map { case (least, greatest) =>
          s" AND t.$name OPERATOR(pg_catalog.>=) $least AND t.$name OPERATOR(pg_catalog.<=) $greatest"
        }
        .mkString
    case _ => ""
  }

  private def updates(from: String): String =
    upsert.updated.map(c => s"${quote(c)} = $from.${quote(c)}").mkString(", ")

  /** Of the rows with the same key the one that is to count. It is asked for several times: so whether it deletes must not
    * depend on how the rows lie there.
    */
  private def winners: String = {
    val order = upsert.order.fold("")(column => s", ${sorted(column)} DESC NULLS LAST") +
      upsert.operation.fold("")(operation => s", ${quote(operation.name)}")
    s"(SELECT DISTINCT ON ($keys) * FROM $source AS s ORDER BY $keys$order)"
  }

  /** Texts by their bytes, as Spark sorts them, whatever the column's collation. */
  private def sorted(column: String): String =
    if (table.columns.exists(c => c.column.name == column && PostgresType.isText(c.column.columnType)))
      s"""${quote(column)} COLLATE pg_catalog."C""""
    else quote(column)

  private def distinct: Long = count(s"SELECT count(*) FROM (SELECT DISTINCT $keys FROM $source AS s) AS k")

  private def duplicates: Long = count(
    s"SELECT COALESCE(sum(n), 0) FROM (SELECT count(*) AS n FROM $source AS s GROUP BY $keys HAVING count(*) > 1) AS d")

  private def count(sql: String): Long = Sql.query(connection, sql)(_.getLong(1)).head

  private def execute(sql: String): Unit = Sql.run(connection, sql)

  private def quote(name: String): String = PostgresDialect.quote(name)
  private def list(names: Seq[String]): String = names.map(quote).mkString(", ")
}
