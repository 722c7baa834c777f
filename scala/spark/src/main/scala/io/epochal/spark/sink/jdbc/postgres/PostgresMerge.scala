package io.epochal.spark.sink.jdbc.postgres

import java.sql.{Connection, SQLException}

import scala.util.Using

import io.epochal.spark.sink.jdbc.{BoundTable, Loaded, OperationColumn, Sql, WriteMode}

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
    val merge = new PostgresMerge(connection, table, upsert, source)
    if (rows > Many) merge.execute(s"SET LOCAL work_mem = '$SortMemory'")
    upsert.operation match {
      case None            => merge.store(rows)
      case Some(operation) => merge.change(operation, rows)
    }
  }

  /** What a sort may take before it goes to disk. It is the driver's one connection that sorts, one sort at a time. */
  private val SortMemory = "256MB"
  private val Many = 10000L
  private val CardinalityViolation = "21000"
}

final private class PostgresMerge(connection: Connection, table: BoundTable, upsert: WriteMode.Upsert, source: String) {
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
    val same = upsert.keys.map(key => s"t.${quote(key)} = w.${quote(key)}").mkString(" AND ")
    val ordered = upsert.keys.map(key => s"t.${quote(key)}").mkString(", ")
    val found = count(
      s"""SELECT count(*) FILTER (WHERE $deletes) FROM (
         |  SELECT w.$deletes FROM $target AS t JOIN $from AS w ON $same ORDER BY $ordered FOR UPDATE OF t) AS l""".stripMargin)
    (found, Sql.update(connection, s"DELETE FROM $target AS t USING $from AS w WHERE $same AND w.$deletes"))
  }

  private def insert(from: String): Long = {
    val updates = upsert.updated.map(c => s"${quote(c)} = EXCLUDED.${quote(c)}").mkString(", ")
    Sql.update(
      connection,
      s"""INSERT INTO $target AS t ($names) SELECT $names FROM $from AS w ORDER BY $keys
         |ON CONFLICT ($keys) DO UPDATE SET $updates""".stripMargin)
  }

  /** Of the rows with the same key the one that is to count. It is asked for several times: so whether it deletes must not
    * depend on how the rows lie there.
    */
  private def winners: String = {
    val order = upsert.order.fold("")(column => s", ${quote(column)} DESC NULLS LAST") +
      upsert.operation.fold("")(operation => s", ${quote(operation.name)}")
    s"(SELECT DISTINCT ON ($keys) * FROM $source AS s ORDER BY $keys$order)"
  }

  private def distinct: Long = count(s"SELECT count(*) FROM (SELECT DISTINCT $keys FROM $source AS s) AS k")

  private def duplicates: Long = count(
    s"SELECT COALESCE(sum(n), 0) FROM (SELECT count(*) AS n FROM $source AS s GROUP BY $keys HAVING count(*) > 1) AS d")

  private def count(sql: String): Long = Sql.query(connection, sql)(_.getLong(1)).head

  private def execute(sql: String): Unit = Using.resource(connection.createStatement())(_.execute(sql)): Unit

  private def quote(name: String): String = PostgresDialect.quote(name)
  private def list(names: Seq[String]): String = names.map(quote).mkString(", ")
}
