package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions
import io.epochal.core.failpoint.Failpoints

final class SqliteTableColumnsSuite extends TableColumns(Sqlite)
@Slow
final class MariadbTableColumnsSuite extends TableColumns(Mariadb)
@Slow
final class Mysql8TableColumnsSuite extends TableColumns(Mysql8)
@Slow
final class StagedTableColumnsSuite extends TableColumns(new Owned(PostgresBy.staged))

final class PostgresTableColumnsSuite extends TableColumns(new Owned(Postgres)) {

  onSchema(
    "a column of another type that appears before the first epoch is detected",
    wide,
    "CREATE TABLE t (id BIGINT PRIMARY KEY)") { f =>
    val run = f.newRun(query, adding)
    val write0 = run.newWrite()
    write0.createStreamingWriterFactory(() => 1): Unit
    f.database.execute("ALTER TABLE t ADD COLUMN price TEXT")
    refused(Conditions.TargetChanged)(write(f, run, 0, Seq(row(1, "one", "1.50"))))
    f.database.execute("ALTER TABLE t DROP COLUMN price")
    write(f, run, 0, Seq(row(1, "one", "1.50")))
  }

  onSchema("prepared transactions cannot add columns, since they write first", wide, "CREATE TABLE t (id BIGINT)") { f =>
    refused(Conditions.ModeUnsupported)(
      f.newRun(query, Map("sinkId" -> "sink", "addColumns" -> "true", "transport" -> "prepared")))
  }
}

/** Mapping of a query's columns to the table's: `columnMap`, `addColumns`, `updateColumns`. */
abstract class TableColumns(databases: TestDatabases) extends SinkSuite(databases) {

  protected val wide: StructType =
    new StructType().add("id", LongType).add("word", StringType).add("price", DecimalType(10, 2), nullable = false)
  protected val adding: Map[String, String] = Map("sinkId" -> "sink", "keyColumns" -> "id", "addColumns" -> "true")

  protected def row(id: Long, word: String, price: String): InternalRow =
    InternalRow(id, UTF8String.fromString(word), Decimal(new java.math.BigDecimal(price), 10, 2))
  private def text(f: JdbcSinkFixture, columns: String): Seq[String] =
    f.database.query(s"SELECT $columns FROM t ORDER BY 1").map(_.mkString(" "))
  private def columnType(f: JdbcSinkFixture, column: String): String = f.database
    .query(s"SELECT data_type FROM information_schema.columns WHERE table_name = 't' AND column_name = '$column'")
    .head
    .mkString
  private def columns(f: JdbcSinkFixture): Int =
    f.database.query("SELECT * FROM t WHERE id = (SELECT max(id) FROM t)").headOption.fold(0)(_.size)

  on(
    "columns are mapped by columnMap, and a wrong name in it is refused with the nearest one",
    "CREATE TABLE t (comment_id BIGINT PRIMARY KEY, \"full text\" TEXT, word INT)") { f =>
    val map = Map("columnMap" -> "ID:comment_id, word:\"full text\"", "keyColumns" -> "id", "sinkId" -> "sink")
    val run = f.newRun(query, map)
    write(f, run, 0, numbers(f, 0 until 2))
    write(f, run, 1, Seq(f.row(1), f.row(2)))
    assert(
      f.database.query("SELECT comment_id, \"full text\" FROM t").map(_.mkString(" ")).toSet ==
        Set("0 row 0", "1 row 1", "2 row 2"))
    def wrong(columnMap: String): Map[String, String] = map + ("columnMap" -> columnMap)
    val from = refused(Conditions.OptionInvalid)(f.newRun(query, wrong("idd:comment_id")))
    assert(from.values("option") == "columnMap" && from.getMessage.contains("Did you mean columnMap=id:comment_id?"))
    val key = refused(Conditions.OptionInvalid)(f.newRun(query, map + ("keyColumns" -> "id,wrd")))
    assert(
      key.getMessage.contains(
        "is 'wrd', which is not one of the query's columns id, word. Hint: Did you mean keyColumns=id,word?"))
    val to = refused(Conditions.ColumnMissing)(f.newRun(query, wrong("id:coment_id,word:\"full text\"")))
    assert(to.getMessage.contains("as 'coment_id'") && to.getMessage.contains("columnMap=id:comment_id"))
    refused(Conditions.OptionConflict)(f.newRun(query, wrong("id:word")))
    refused(Conditions.OptionInvalid)(f.newRun(query, wrong("id=comment_id")))
  }

  on("a created table has the mapped names") { f =>
    val map = Map("columnMap" -> "id:key,word:\"a \"\"word\"\"\"", "keyColumns" -> "id", "createTable" -> "true")
    write(f, f.newRun(query, map + ("sinkId" -> "sink")), 0, numbers(f, 0 until 2))
    assert(
      f.database.query("SELECT \"key\", \"a \"\"word\"\"\" FROM t ORDER BY 1").map(_.mkString(" ")) ==
        Seq("0 row 0", "1 row 1"))
  }

  onSchema(
    "columns are added with the first epoch, as nullable, and older rows have NULL",
    wide,
    "CREATE TABLE t (id BIGINT PRIMARY KEY)") { f =>
    f.database.execute("INSERT INTO t VALUES (0)")
    val run = f.newRun(query, adding)
    assert(columns(f) == 1)
    write(f, run, 0, Seq(row(1, "one", "1.50")))
    write(f, run, 1, Seq(row(2, "two", "2.00"), row(1, "ONE", "1.25")))
    write(f, f.newRun(query, adding), 2, Seq(row(3, "three", "3.00")))
    assert(text(f, "id, word, price") == Seq("0 null null", "1 ONE 1.25", "2 two 2.00", "3 three 3.00"))
    f.database.execute("INSERT INTO t (id) VALUES (9)")
  }

  onSchema(
    "an epoch that fails adds no column, one without rows does",
    wide,
    "CREATE TABLE t (id BIGINT PRIMARY KEY)") { f =>
    f.database.execute("INSERT INTO t VALUES (0)")
    val run = f.newRun(query, adding)
    Failpoints.arm("rows.loaded=fail@1")
    intercept[IllegalStateException](write(f, run, 0, Seq(row(1, "one", "1.50"))))
    // DDL commits in MySQL: there the claim has added them.
    assert(columns(f) == (if (f.database.url.startsWith("jdbc:m")) 3 else 1))
    write(f, run, 0, Nil)
    assert(columns(f) == 3)
    write(f, run, 1, Seq(row(1, "one", "1.50")))
    assert(text(f, "id, word, price") == Seq("0 null null", "1 one 1.50"))
  }

  onSchema(
    "an epoch that onLedgerEmpty skips adds the columns, too, and the next one is written",
    wide,
    "CREATE TABLE t (id BIGINT PRIMARY KEY)") { f =>
    f.database.execute("INSERT INTO t VALUES (0)")
    val run = f.newRun(query, adding + ("onLedgerEmpty" -> "skip:2"))
    write(f, run, 2, Seq(row(1, "one", "1.50")))
    assert(columns(f) == 3)
    write(f, run, 3, Seq(row(2, "two", "2.00")))
    assert(text(f, "id, word, price") == Seq("0 null null", "2 two 2.00"))
  }

  onSchema(
    "alterColumns widens columns with the first epoch, and lets those be NULL that the query lacks",
    wide,
    "CREATE TABLE t (id INT PRIMARY KEY, price NUMERIC(6,1), old INT NOT NULL, kept INT NOT NULL DEFAULT 7)"
  ) { f =>
    f.database.execute("INSERT INTO t (id, price, old) VALUES (0, 1.5, 2)")
    val altering = adding + ("alterColumns" -> "true")
    if (f.database.url.startsWith("jdbc:sqlite")) {
      // It cannot alter columns.
      val error = refused(Conditions.ColumnRequired)(f.newRun(query, altering))
      assert(error.getMessage.contains("'old'") && error.getMessage.contains("drop it there"))
      f.database.execute("ALTER TABLE t DROP COLUMN old")
      write(f, f.newRun(query, altering), 0, Seq(row(1L << 40, "one", "12345678.25")))
    } else {
      val error = refused(Conditions.ColumnTypeMismatch)(f.newRun(query, adding))
      assert(error.getMessage.contains("'id'"))
      val run = f.newRun(query, altering)
      write(f, run, 0, Seq(row(1L << 40, "one", "12345678.25")))
      write(f, run, 1, Seq(row(0, "zero", "1.50")))
      write(f, f.newRun(query, altering), 2, Seq(row(2, "two", "2.00")))
      assert(
        text(f, "id, price, old, kept, word") ==
          Seq("0 1.50 2 7 zero", "2 2.00 null 7 two", s"${1L << 40} 12345678.25 null 7 one"))
    }
  }

  onSchema(
    "alterColumns widens nothing in an epoch that fails, and narrows nothing",
    wide,
    "CREATE TABLE t (id INT PRIMARY KEY, word TEXT, price NUMERIC(12,4))") { f =>
    val run = f.newRun(query, adding + ("alterColumns" -> "true"))
    if (f.database.url.startsWith("jdbc:p")) {
      Failpoints.arm("rows.loaded=fail@1")
      intercept[IllegalStateException](write(f, run, 0, Seq(row(1, "one", "1.50"))))
      assert(columnType(f, "id") == "integer")
    }
    write(f, run, 0, Seq(row(1, "one", "1.50")))
    assert(
      text(f, "id, word, price") == Seq(if (f.database.url.startsWith("jdbc:sqlite")) "1 one 1.5" else "1 one 1.5000"))
    if (f.database.url.startsWith("jdbc:p")) assert(columnType(f, "id") == "bigint")
  }

  onSchema("keys are never added, nor any column without addColumns", wide, "CREATE TABLE t (word TEXT)") { f =>
    refused(Conditions.KeyNotUnique)(f.newRun(query, adding))
    refused(Conditions.ColumnMissing)(f.newRun(query, Map("sinkId" -> "sink")))
  }

  onSchema(
    "updateColumns are replaced, the other columns keep their values",
    wide,
    "CREATE TABLE t (id BIGINT PRIMARY KEY, word TEXT, price NUMERIC(10,2))") { f =>
    val run = f.newRun(query, Map("sinkId" -> "sink", "keyColumns" -> "id", "updateColumns" -> "PRICE"))
    write(f, run, 0, Seq(row(1, "one", "1.50")))
    write(f, run, 1, Seq(row(1, "ONE", "7.25"), row(2, "two", "2.25")))
    assert(text(f, "id, word, price") == Seq("1 one 7.25", "2 two 2.25"))
    def wrong(more: (String, String)*): Map[String, String] = Map("keyColumns" -> "id") ++ more
    refused(Conditions.OptionConflict)(f.newRun(query, wrong("updateColumns" -> "id,word")))
    refused(Conditions.OptionConflict)(f.newRun(query, Map("updateColumns" -> "word")))
    val error = refused(Conditions.OptionInvalid)(f.newRun(query, wrong("updateColumns" -> "prise")))
    assert(error.values("option") == "updateColumns" && error.getMessage.contains("Did you mean updateColumns=price?"))
  }
}
