package io.epochal.jdbc.mysql

import java.sql.{Connection, ResultSet, SQLException}
import java.util.{Collections, WeakHashMap}

import scala.util.Using

import org.slf4j.LoggerFactory

import io.epochal.core.error.{Plural, Redaction}
import io.epochal.core.retry.Verdict
import io.epochal.jdbc.database.{BoundColumn, BoundTable, Loaded, Verification, WriteMode}
import io.epochal.jdbc.insert.{InsertBatches, TemporaryMerge}
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._
import io.epochal.kit.sink.row.EncodedRows

/** Loads encoded rows into a table: by LOAD DATA LOCAL INFILE from a stream, where server and driver allow it, otherwise by the
  * bulk protocol of MariaDB, or by multi-row INSERTs.
  */
private[mysql] object MysqlLoad {
  private val log = LoggerFactory.getLogger("io.epochal.jdbc.mysql.MysqlLoad")

  private val MaxParameters = 65535

  // Larger statements are no faster.
  private val MaxBytes = 1L << 20

  // In a statement's text a value takes up to four times its encoded bytes: numbers as digits, escaped bytes.
  private val TextPerByte = 4

  // An epoch of so few rows takes one INSERT, and fewer round trips.
  private val FewRows = 200
  private val BulkRows = 1000
  private val Savepoint = "epochal_load"

  /** Of a text in an index, in characters. */
  private val LongestPrefix = 40

  /** Why LOAD DATA was undone for rows that INSERTs then stored: further epochs of the run would be loaded twice as well. */
  private val failures = Collections.synchronizedMap(new WeakHashMap[BoundTable, String])
  private val inserts = new InsertBatches(MysqlRules, MysqlDialect.quote, MaxParameters)

  /** The server cuts the connection while the statement arrives, which drivers report as a lost connection. */
  private def tooLarge(error: SQLException, bytes: Long, packet: Long): SQLException =
    if (!MysqlErrors.losesConnection(error)) error
    else
      new SQLException(
        s"$bytes bytes of a row in one statement, and max_allowed_packet is $packet (${error.getMessage})",
        "08S01",
        MysqlErrors.PacketTooLarge,
        error)

  private def insert(
      connection: Connection,
      into: String,
      table: BoundTable,
      rows: EncodedRows,
      batchSize: Int): Long = {
    val packet = variables(connection)("max_allowed_packet").toLong
    inserts.multiRow(
      connection,
      into,
      table,
      rows,
      batchSize,
      maxBytes = math.min(MaxBytes, packet / TextPerByte),
      alone = (error, bytes) => if (bytes < packet) error else tooLarge(error, bytes, packet)
    )
  }

  /** Rows that the server stored, by which statement, and why by that. */
  final private case class StoreResult(rows: Long, statement: String, reason: String) {
    def by: Map[String, String] = Map("load" -> statement, "loadReason" -> reason)
  }

  private def store(
      connection: Connection,
      into: String,
      table: BoundTable,
      rows: EncodedRows,
      batchSize: Int): StoreResult = {
    val refusal =
      if (rows.rows < FewRows) Some(s"fewer than $FewRows rows")
      else Option(failures.get(table)).orElse(refusalOf(connection, table))
    refusal.toLeft(()).flatMap(_ => load(connection, into, table, rows)) match {
      case Right(storedRows) => StoreResult(storedRows, "LOAD DATA LOCAL", "local_infile is ON")
      case Left(reason) =>
        val result =
          if (rows.rows >= FewRows && hasBulkProtocol(connection))
            StoreResult(inserts.batches(connection, into, table, rows, BulkRows, MaxBytes), "bulk INSERT", reason)
          else StoreResult(insert(connection, into, table, rows, batchSize), "INSERT", reason)
        if (refusal.isEmpty) failures.put(table, s"in an earlier epoch, $reason"): Unit
        result
    }
  }

  /** A row that replaces others goes into a temporary table first, which numbers nothing. */
  private def refusalOf(connection: Connection, table: BoundTable): Option[String] =
    LocalInfile.refusal(
      connection,
      variables(connection),
      increments = table.mode == WriteMode.Append && table.table.columns.exists(MysqlType.of(_).increments))

  /** MariaDB's driver sends a batch to a MariaDB server as one message, unless a property forbids it. */
  private def hasBulkProtocol(connection: Connection): Boolean =
    connection.unwrap(classOf[Connection]).getClass.getName.startsWith("org.mariadb.jdbc.") &&
      MysqlVersion(variables(connection)("version")).isMariadb

  /** The server's variables that decide about loads, asked once for a connection: where one has changed since, a load by LOAD DATA
    * fails and is undone.
    */
  private def variables(connection: Connection): Map[String, String] =
    variables.computeIfAbsent(
      connection.unwrap(classOf[Connection]),
      _ =>
        sql"SHOW VARIABLES WHERE Variable_name IN ${Sql.list(LocalInfile.Variables ++ Seq("max_allowed_packet", "version"))}"
          .query(connection)(variable => variable.getString(1) -> variable.getString(2))
          .toMap
    )
  private val variables = Collections.synchronizedMap(new WeakHashMap[Connection, Map[String, String]])

  /** LOAD DATA LOCAL never fails for a row: it leaves out one whose key exists, and alters a value that does not fit, with a
    * warning. So after any warning it is undone, and INSERTs decide: they fail for such a row, as the strict mode demands.
    *
    * @return
    *   the number of rows, or why nothing is loaded
    */
  private def load(connection: Connection, into: String, table: BoundTable, rows: EncodedRows): Either[String, Long] = {
    val lines = new LoadLines(table, rows)
    Sql.run(connection, s"SAVEPOINT $Savepoint")
    val result =
      try {
        val storedRows = LocalInfile.execute(connection, LoadLines.sql(into, table), lines)
        warning(connection, table)
          .orElse(Option.when(storedRows != rows.rows)(s"LOAD DATA stored $storedRows of ${rows.rows} rows"))
          .toLeft(storedRows)
      } catch {
        case error: SQLException if MysqlErrors.verdict(error) == Verdict.GiveUp =>
          note(table, error.getMessage)
          Left(s"LOAD DATA gave error ${error.getErrorCode}")
      }
    lines.check()
    // Fails if something has ended the transaction.
    Sql.run(connection, s"${if (result.isRight) "RELEASE" else "ROLLBACK TO"} SAVEPOINT $Savepoint")
    result
  }

  /** The server's text may have values of a row: it goes to the log, not into the progress. */
  private def note(table: BoundTable, text: String): Unit =
    log.warn(
      "epochal-jdbc: LOAD DATA into {} is undone, and INSERTs follow: {}",
      table.table.name: Any,
      Redaction.text(text): Any)

  /** Counts all warnings, even where `max_error_count` keeps none. */
  private def warning(connection: Connection, table: BoundTable): Option[String] =
    Using.resource(connection.createStatement()) { statement =>
      def first[A](sql: String)(read: ResultSet => A): Option[A] =
        Using.resource(statement.executeQuery(sql))(rows => Option.when(rows.next())(read(rows)))
      first("SHOW COUNT(*) WARNINGS")(_.getLong(1)).filter(_ > 0).map { count =>
        val code = first("SHOW WARNINGS LIMIT 1") { rows =>
          note(table, rows.getString(3))
          s", the first ${rows.getInt(2)}"
        }
        s"LOAD DATA gave ${Plural.of(count, "warning")}${code.getOrElse("")}"
      }
    }

  def apply(connection: Connection, table: BoundTable, rows: EncodedRows, batchSize: Int): Loaded =
    table.mode match {
      case WriteMode.Append =>
        val storedRows = store(connection, MysqlDialect.quote(table.table.name), table, rows, batchSize)
        Loaded.Rows(storedRows.rows, rows.rows, storedRows.by)
      case upsert: WriteMode.Upsert =>
        val incoming = temporary(table, "epochal_incoming")
        var by = Map.empty[String, String]
        val merge = new MysqlMerge(connection, table, upsert, incoming)
        merge(rows.rows) {
          val storedRows = store(connection, incoming, table, rows, batchSize)
          by = storedRows.by
          storedRows.rows
        } match {
          case result: Loaded.Rows => result.copy(method = by)
          case other               => other
        }
    }

  private def temporary(table: BoundTable, name: String): String =
    MysqlDialect.quote(table.table.name.copy(table = name))

  /** By ON DUPLICATE KEY UPDATE where the key is the table's only unique index and all columns are updated.
    *
    * Otherwise that would update a row that collides in ''any'' unique index, which here is an error: existing rows are updated
    * and marked in one statement, then the rows without a mark are inserted.
    */
  final private class MysqlMerge(connection: Connection, table: BoundTable, upsert: WriteMode.Upsert, incoming: String)
      extends TemporaryMerge(MysqlDialect, connection, table, upsert, incoming) {
    private val winnersTable = MysqlLoad.temporary(table, "epochal_winners")
    private val foundColumn = quote(table.table.unused("epochal_found"))

    override protected def sorted(column: BoundColumn): String = {
      val name = super.sorted(column)
      if (MysqlType.of(column.column).isText) s"CAST(CONVERT($name USING utf8mb4) AS BINARY)" else name
    }

    // A row without a key, which empties the table, counts for none.
    override protected def distinct: Long = count(s"SELECT count(DISTINCT $keys) FROM $incoming AS s")

    // Every collation sorts digits before letters.
    override protected def uuidOrder(column: BoundColumn, name: String): Option[String] =
      Option.when(MysqlType.of(column.column).isText)(name)

    override protected def literal(text: String): String = MysqlCatalog.literal(text)

    // A temporary table does not commit the transaction, and a statement cannot refer to it twice.
    private def make(name: String, select: String): Unit = {
      val text = "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
      val operation = table.operation.toSeq.flatMap { column =>
        val types = Seq("TINYINT NOT NULL DEFAULT 0", "VARBINARY(255)", text)
        column.names.zip(types).map { case (name, kind) => s", ${quote(name)} $kind" }
      }.mkString
      run(s"CREATE TEMPORARY TABLE $name ($foundColumn INT NOT NULL DEFAULT 0$operation) ENGINE=InnoDB $select")
    }

    /** An outer join makes all columns nullable: a row that deletes has only its key. */
    override protected def create(): Unit = {
      drop()
      val columns = table.columnNames.map(name => s"t.${quote(name)}").mkString(", ")
      make(incoming, s"SELECT $columns FROM (SELECT 1) AS o LEFT JOIN $target AS t ON false WHERE false")
    }

    override protected def merge(rows: Long, distinct: Long): Loaded = {
      val changes = feed
      val verification = changes.flatMap(_.verification(matches))
      def result = merge(rows, distinct, changes, verification)
      changes.fold[Loaded](result)(_.write(verification)(result))
    }

    private def merge(
        rows: Long,
        distinct: Long,
        changes: Option[Feed],
        verification: Option[Verification]): Loaded.Rows = {
      val isSimple = distinct == rows && changes.forall(feed => !feed.hasMarks && !feed.isPartial)
      val source = if (isSimple) incoming else winnersTable
      if (source == winnersTable)
        make(winnersTable, s"SELECT w.* FROM ${changes.fold(winners)(_.winners(matches))} AS w")
      changes.flatMap(_.removals(source)).foreach(run)
      val comparison = verification.orElse(changes.flatMap(_.replacement(source, matches)))
      if (changes.exists(_.emptied.nonEmpty)) run(s"DELETE FROM $target")
      upsert.operation.fold(Loaded.Rows(store(source, distinct), distinct))(operation =>
        change(source, distinct, quote(operation.name), changes).verifying(comparison))
    }

    override protected def identical: String = table.columns
      .map { bound =>
        val kind = MysqlType.of(bound.column)
        val Seq(one, other) = Seq("t", "w").map { of =>
          val name = s"$of.${quote(bound.column.name)}"
          if (kind.isText || kind.name == "json") s"CAST(CONVERT($name USING utf8mb4) AS BINARY)" else name
        }
        s"$one <=> $other"
      }
      .mkString(" AND ")

    private def change(source: String, distinct: Long, deletes: String, changes: Option[Feed]): Loaded.Rows = {
      val lacks = changes.fold("false")(_.lacks)
      val (all, removing, partial) = Sql
        .query(
          connection,
          s"SELECT count(*), count(CASE WHEN $deletes THEN 1 END), count(CASE WHEN $lacks THEN 1 END) FROM $source")(
          row => (row.getLong(1), row.getLong(2), row.getLong(3)))
        .head
      val lostRows = if (partial == 0) 0L else changes.fold(0L)(_.followKeys(source, matches))
      val (deletedRows, presentRows) = if (removing == 0) (0L, 0L) else delete(source, deletes)
      val updatedRows = if (partial == 0) 0L else changes.fold(0L)(_.update(source, matches))
      if (partial > 0) run(s"DELETE FROM $source WHERE $lacks")
      val wholeRows = if (partial == 0) all - removing else count(s"SELECT count(*) FROM $source")
      // Rows before the one that empties the table have keys, too, and those that are compared.
      val keyCount = if (changes.exists(_.hasMarks)) all else distinct
      Loaded.Rows(deletedRows + updatedRows + store(source, wholeRows), presentRows + keyCount - removing + lostRows)
    }

    /** Rows that were deleted, and rows that should have been. */
    private def delete(source: String, deletes: String): (Long, Long) = {
      // DELETE finds an alias only in the connection's own database.
      val equal = upsert.keys.map(quote).map(key => s"$target.$key = w.$key").mkString(" AND ")
      val join = s"FROM $source AS w STRAIGHT_JOIN $target ON $equal WHERE w.$deletes"
      val presentRows = count(s"SELECT count(*) $join FOR UPDATE")
      val deletedRows = Sql.update(connection, s"DELETE $target $join")
      run(s"DELETE FROM $source WHERE $deletes")
      (deletedRows, presentRows)
    }

    override protected def temporary(name: String, query: String, indexes: Seq[Seq[String]]): String = {
      val relation = MysqlLoad.temporary(table, s"epochal_$name")
      val keys = indexes.map { columns =>
        columns.zipAll(prefixes, "", "").collect { case (column, prefix) if column.nonEmpty => column + prefix }
      }
      val depth =
        if (MysqlVersion(variables(connection)("version")).isMariadb) "max_recursive_iterations"
        else "cte_max_recursion_depth"
      run(s"SET SESSION $depth = 4294967295")
      run(s"DROP TEMPORARY TABLE IF EXISTS $relation")
      run(
        s"CREATE TEMPORARY TABLE $relation (${keys.map(_.mkString("KEY (", ", ", ")")).mkString(", ")}) " +
          s"ENGINE=InnoDB ROW_FORMAT=DYNAMIC AS $query")
      relation
    }

    override protected def drop(temporary: String): Unit = run(s"DROP TEMPORARY TABLE $temporary")

    /** For an index of each key column: the length of its prefix. */
    private lazy val prefixes: Seq[String] = upsert.keys.map { key =>
      val kind = MysqlType.of(table.columns.find(_.column.name == key).get.column)
      if (kind.bytes.isDefined || kind.isText) s"(${kind.length.fold(LongestPrefix)(math.min(_, LongestPrefix))})"
      else ""
    }

    override protected def updateRows(
        into: String,
        sets: Seq[(String, String)],
        from: String,
        condition: String): String =
      s"UPDATE $into AS w STRAIGHT_JOIN $from AS t ON $condition SET " +
        sets.map { case (column, value) => s"w.$column = $value" }.mkString(", ")

    /** Counts the rows itself: some drivers do not count those that stay as they are. */
    override protected def updateTarget(columns: Seq[String], rows: String, equal: String): Long = {
      val join = s"$rows AS w STRAIGHT_JOIN $target AS t ON $equal"
      val updatedRows = count(s"SELECT count(*) FROM $join FOR UPDATE")
      run(s"UPDATE $join SET ${columns.map(quote).map(c => s"t.$c = w.$c").mkString(", ")}")
      updatedRows
    }

    private def store(source: String, rows: Long): Long = {
      // A column that the query does not write would get its default, or a number, for rows that exist as well.
      val replacesAll = (upsert.keys ++ upsert.updated).toSet == table.columnNames.toSet &&
        table.table.columns.forall(c => c.generated || table.columnNames.contains(c.name))
      // The temporary table was made from the target, whose indexes cannot change until the transaction ends.
      if (replacesAll && MysqlCatalog.hasOnlyKey(connection, table.table.name, upsert.keys)) replace(source, rows)
      else updateAndInsert(source)
    }

    private def replace(source: String, rows: Long): Long = {
      val sets = upsert.updated.map(quote).map(c => s"$c = VALUES($c)").mkString(", ")
      val rowCount = Sql.update(
        connection,
        s"INSERT INTO $target ($names) SELECT $names FROM $source ORDER BY $keys ON DUPLICATE KEY UPDATE $sets")
      // An updated row counts twice; an unchanged one once or, by a setting of the driver, not at all.
      if (rowCount >= rows) rows else count(s"SELECT count(*) FROM $source AS w JOIN $target AS t ON $matches")
    }

    private def matches: String = upsert.keys.map(quote).map(k => s"t.$k = w.$k").mkString(" AND ")

    private def updateAndInsert(source: String): Long = {
      // Named on both sides, since the temporary table has the target's ON UPDATE CURRENT_TIMESTAMP.
      val sets =
        upsert.updated.map(quote).flatMap(c => Seq(s"w.$c = w.$c", s"t.$c = w.$c")) :+ s"w.$foundColumn = 1"
      run(s"UPDATE $source AS w STRAIGHT_JOIN $target AS t ON $matches SET ${sets.mkString(", ")}")
      val changedRows = count(s"SELECT count(*) FROM $source WHERE $foundColumn = 1")
      val addedRows = Sql.update(
        connection,
        s"INSERT INTO $target ($names) SELECT $names FROM $source WHERE $foundColumn = 0 ORDER BY $keys")
      changedRows + addedRows
    }

    /** Also after a rolled-back transaction: temporary tables stay with the session. */
    override protected def drop(): Unit = run(s"DROP TEMPORARY TABLE IF EXISTS $incoming, $winnersTable")
  }
}
