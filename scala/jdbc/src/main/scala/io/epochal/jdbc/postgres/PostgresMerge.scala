package io.epochal.jdbc.postgres

import java.sql.{Connection, ResultSet, SQLException}

import io.epochal.jdbc.database.{BoundColumn, BoundTable, Loaded, OperationColumn, Verification, WriteMode}
import io.epochal.jdbc.insert.KeyedMerge
import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{PostgresType, Sql}

/** Merges rows from another relation of the same database into the target by key.
  *
  * Rows are locked in key order: sinks that upsert the same keys wait for each other and never deadlock.
  */
private[postgres] object PostgresMerge {

  /** @param source
    *   SQL of the relation, whose columns are those of [[BoundTable.incoming]]: a table, or a query in parentheses
    * @param rows
    *   number of rows in it
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
    if (many) Sql.run(connection, s"SET LOCAL work_mem = '$SortMemory'; SET LOCAL jit = off")
    PostgresIncoming.parsing(table)(upsert.operation.fold(merge.store(rows))(merge.change(_, rows)))
  }

  /** Memory for a sort. Only the driver's one connection sorts, one sort at a time. */
  private val SortMemory = "256MB"
  private val Many = 10000L

  private val Winners = "winners"
  private val Numbers = Set("smallint", "integer", "bigint")

  private val CardinalityViolation = "21000"
  private val UniqueViolation = "23505"
  private val FirstWithMerge = 15
}

/** @param many
  *   there are enough rows for statements and settings that pay off only with many
  */
final private class PostgresMerge(
    connection: Connection,
    table: BoundTable,
    upsert: WriteMode.Upsert,
    source: String,
    many: Boolean)
    extends KeyedMerge(PostgresDialect, connection, table, upsert, source) {
  import PostgresMerge._

  private def store(rows: Long): Loaded =
    if (upsert.order.isDefined) {
      val storedRows = insert(winners)
      Loaded.Rows(storedRows, if (storedRows == rows) rows else distinct)
    } else storeDistinct(rows)

  /** Skips the search for duplicate keys: the server itself refuses to update a row twice. */
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

  private def change(operation: OperationColumn, rows: Long): Loaded = feed.fold(changeByKey(operation, rows))(follow)

  /** Follows a change feed. */
  private def follow(changes: Feed): Loaded = {
    val verification = changes.verification(keysEqual)
    changes.write(verification)(follow(changes, verification))
  }

  /** The winners are sorted once, into a table, and stay there for all statements. */
  private def follow(changes: Feed, verification: Option[Verification]): Loaded.Rows = {
    val deletes = changes.deletes
    val from = PostgresIncoming.relation(table, Winners)
    val (different, removing, partial) = withOperators(
      Seq(
        PostgresIncoming.creation(table, Winners, s"SELECT * FROM $source AS s"),
        Sql.raw(s"INSERT INTO $from SELECT * FROM ${changes.winners(keysEqual)} AS w")) ++
        changes.removals(from).map(Sql.raw) :+
        Sql.raw(
          s"SELECT count(*), count(*) FILTER (WHERE $deletes), count(*) FILTER (WHERE ${changes.lacks}) FROM $from")
    )(row => (row.getLong(1), row.getLong(2), row.getLong(3)))
    val comparison = verification.orElse(changes.replacement(from, keysEqual))
    val equalRows = if (changes.emptied.isEmpty) 0L else replace(from, deletes, partial)
    val lostRows = if (partial == 0) 0L else changes.followKeys(from, keysEqual)
    val (foundRows, deletedRows) = if (removing + partial == 0) (0L, 0L) else delete(from, deletes)
    val updated = if (partial == 0) 0L else changes.update(from, keysEqual)
    // Of a condition the server would not know how many rows it leaves.
    if (removing + partial > 0) run(s"DELETE FROM $from WHERE $deletes OR ${changes.lacks}")
    val storedRows = insert(from)
    Loaded
      .Rows(
        storedRows + deletedRows + updated,
        different - equalRows - removing + math.max(foundRows, deletedRows) + lostRows)
      .verifying(comparison)
  }

  /** Empties the target, but for the keys of the winners, which then lack its rows that are equal. Returns the number of these. */
  private def replace(from: String, deletes: String, partial: Long): Long =
    // The values of a partial row are those of the winners, and not of the target.
    if (partial > 0) {
      write(s"DELETE FROM $target"): Unit
      0L
    } else {
      write(
        s"DELETE FROM $target AS t WHERE NOT EXISTS (SELECT FROM $from AS w WHERE $keysEqual AND NOT w.$deletes)"): Unit
      Sql.update(connection, s"DELETE FROM $from AS w USING $target AS t WHERE $keysEqual AND $identical")
    }

  override protected def identical: String = {
    def row(of: String) =
      table.columns.map(PostgresIncoming.valueOf(_, s"$of.")).mkString("ROW(", ", ", ")::pg_catalog.record")
    s"${row("t")} OPERATOR(pg_catalog.*=) ${row("w")}"
  }

  /** Only those that may be deferred can be set. */
  override protected def checkConstraints(): Unit =
    Seq("IMMEDIATE", "DEFERRED").foreach(when => run(s"SET CONSTRAINTS ALL $when"))

  override protected def temporary(name: String, query: String, indexes: Seq[Seq[String]]): String = {
    PostgresIncoming.creation(table, name, query).run(connection)
    val relation = PostgresIncoming.relation(table, name)
    run(s"INSERT INTO $relation $query")
    relation
  }

  override protected def drop(temporary: String): Unit = run(s"DROP TABLE $temporary")

  /** First locks all target rows that change, in key order. */
  private def changeByKey(operation: OperationColumn, rows: Long): Loaded = {
    val deletes = quote(operation.name)
    val counts = Sql.raw(s"SELECT ($distinctSql), (SELECT count(*) FROM $source AS w WHERE w.$deletes)")
    val (different, markedRows) = withOperators(Seq(counts))(row => (row.getLong(1), row.getLong(2)))
    if (different < rows && upsert.order.isEmpty) Loaded.DuplicateKeys(duplicates)
    else {
      val from = if (different < rows) winners else source
      val removing = if (different < rows) count(s"SELECT count(*) FROM $from AS w WHERE w.$deletes") else markedRows
      val (foundRows, deletedRows) = if (removing == 0) (0L, 0L) else delete(from, deletes)
      val storedRows = insert(s"(SELECT * FROM $from AS w WHERE NOT w.$deletes)")
      // Between the two statements another transaction may have committed a row with a key to delete.
      Loaded.Rows(storedRows + deletedRows, different - removing + math.max(foundRows, deletedRows))
    }
  }

  /** How many rows there were to delete, and how many were deleted. A missing key counts as neither. */
  private def delete(from: String, deletes: String): (Long, Long) = {
    val keyOrder = upsert.keys.map(key => s"t.${quote(key)}").mkString(", ")
    val foundRows = count(text"""SELECT count(*) FILTER (WHERE $deletes) FROM (
         |  SELECT w.$deletes FROM $target AS t JOIN $from AS w ON $keysEqual ORDER BY $keyOrder FOR UPDATE OF t) AS l""")
    (foundRows, write(s"DELETE FROM $target AS t USING $from AS w WHERE $keysEqual AND w.$deletes"))
  }

  /** MERGE is faster, but fails if another transaction inserts the same key concurrently. */
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

  /** Whether the server has MERGE and the table has no rules, with which it is refused. */
  private def mergeable: Boolean =
    connection.getMetaData.getDatabaseMajorVersion >= FirstWithMerge &&
      count(
        s"SELECT count(*) FROM pg_class WHERE oid = ${PostgresCatalog.identitySql(table.table.name)} AND relhasrules") == 0

  private def insertOrUpdate(from: String): Long =
    write(text"""INSERT INTO $target AS t ($names) SELECT $names FROM $from AS w ORDER BY $keys
         |ON CONFLICT ($keys) DO UPDATE SET ${updates("EXCLUDED")}""")

  /** Allows only join orders that lock in key order: a nested loop visits the target's rows in the source's order, a merge join in
    * that of the key, but with several columns in an order of its own. A nested loop looks each key up: over the materialized range
    * of keys, which outdated statistics may make look short, it would take quadratic time.
    */
  private def merge(from: String): Long = {
    run(
      "SET LOCAL enable_hashjoin = off; SET LOCAL enable_material = off; " +
        s"SET LOCAL enable_mergejoin = ${if (upsert.keys.size == 1) "on" else "off"}")
    val values = table.columnNames.map(column => s"w.${quote(column)}").mkString(", ")
    val condition = s"$keysEqual${keyRange(from)}"
    val mergedRows = write(
      text"""MERGE INTO $target AS t USING (SELECT * FROM $from AS s ORDER BY $keys) AS w ON $condition
         |WHEN MATCHED THEN UPDATE SET ${updates("w")}
         |WHEN NOT MATCHED THEN INSERT ($names) VALUES ($values)"""
    )
    run(
      "SET LOCAL enable_hashjoin TO DEFAULT; SET LOCAL enable_material TO DEFAULT; SET LOCAL enable_mergejoin TO DEFAULT")
    mergedRows
  }

  /** Runs statements, and returns the row of the last one. Asks for [[keysEqual]] in the same message. */
  private def withOperators[A](statements: Seq[Sql])(read: ResultSet => A): A = {
    val results = Sql.queryAll(connection, SearchPath.operators(target) +: statements)((statement, row) =>
      if (statement == 0) Left(SearchPath.operator(row)) else Right(read(row)))
    operators = Some(results.head.flatMap(_.left.toOption))
    results.last.flatMap(_.toOption).head
  }

  private var operators = Option.empty[Seq[(String, (String, String))]]
  private def targetOperators: Seq[(String, (String, String))] =
    operators.getOrElse(SearchPath.operators(target).query(connection)(SearchPath.operator))
  private lazy val keysEqual: String = SearchPath.equal(targetOperators, upsert.keys)

  override protected def same(left: Seq[String], right: Seq[String]): String =
    SearchPath.equal(targetOperators, upsert.keys, left, right)

  /** Runs a statement that writes the target, under the session's path: every function and operator must be qualified. */
  override protected def write(sql: String): Long = SearchPath.update(connection, sql)

  /** A condition that limits the join to the source's key range, so that the server need not read the other rows. */
  private def keyRange(from: String): String = upsert.keys match {
    case Seq(key) if table.columns.exists(c => c.column.name == key && Numbers(c.column.columnType.declaration)) =>
      val name = quote(key)
      Sql
        .query(connection, s"SELECT min($name), max($name) FROM $from AS s")(row => row.getLong(1) -> row.getLong(2))
        .map { case (least, greatest) =>
          s" AND t.$name OPERATOR(pg_catalog.>=) $least AND t.$name OPERATOR(pg_catalog.<=) $greatest"
        }
        .mkString
    case _ => ""
  }

  /** The winning row of each key. Several queries evaluate it, so whether a row deletes must not depend on the physical order of
    * rows.
    */
  private def winners: String = {
    val order = upsert.order.map(column => s"${sortKey(column)} DESC NULLS LAST") ++
      upsert.operation.map(operation => quote(operation.name))
    first(s"$source AS r", order.mkString(", "))
  }

  override protected def first(from: String, order: String): String =
    s"(SELECT DISTINCT ON ($keys) * FROM $from ORDER BY $keys, $order)"

  override protected def literal(text: String): String = PostgresCatalog.literal(text)

  override protected def bytes(column: String): String = s"""$column COLLATE pg_catalog."C""""

  override protected def uuidOrder(column: BoundColumn, name: String): Option[String] =
    if (column.column.columnType.asInstanceOf[PostgresType].name == "uuid") Some(name)
    else
      Option.when(PostgresTypeRules.isText(column.column.columnType) && !upsert.loose.contains(column.column.name))(
        s"""$name COLLATE pg_catalog."C"""")

  /** Texts by their bytes, as Spark sorts them, regardless of the column's collation. */
  private def sortKey(column: String): String =
    if (table.columns.exists(c => c.column.name == column && PostgresTypeRules.isText(c.column.columnType)))
      s"""${quote(column)} COLLATE pg_catalog."C""""
    else quote(column)
}
