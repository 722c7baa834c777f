package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.{IntegerType, LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.core.error.Conditions
import io.epochal.support.SlowTests

final class SqliteWriteModesSuite extends WriteModes(Sqlite)
final class PostgresWriteModesSuite extends WriteModes(Postgres)
final class MariadbWriteModesSuite extends WriteModes(Mariadb)
final class Mysql8WriteModesSuite extends WriteModes(Mysql8)

/** Append, upsert and complete. */
abstract class WriteModes(databases: TestDatabases) extends SinkSuite(databases) with SlowTests {

  override protected def isSlow(test: String): Boolean = databases match {
    case _: MysqlDatabases => !Seq("upsert replaces", "complete mode").exists(test.contains(_))
    case _                 => false
  }

  // Not every database allows TEXT as a key.
  private def keyText: String = databases match {
    case mysql: MysqlDatabases => mysql.keyText
    case _                     => "TEXT"
  }
  private def keyOptions: Map[String, String] = databases match {
    case mysql: MysqlDatabases => mysql.keyOptions
    case _                     => Map.empty
  }
  private val keyed =
    s"CREATE TABLE t (id BIGINT NOT NULL, kind $keyText NOT NULL, version INT, word TEXT, PRIMARY KEY (id, kind))"
  private val schema = new StructType()
    .add("id", LongType)
    .add("kind", StringType)
    .add("version", IntegerType)
    .add("word", StringType)
  private val upsert = keyOptions ++ Map("sinkId" -> "sink", "keyColumns" -> "kind,id")
  private val ordered = upsert + ("orderColumn" -> "version")

  private def text(value: String): UTF8String = UTF8String.fromString(value)
  private def row(id: Long, kind: String, version: Any, word: String): InternalRow =
    InternalRow(id, text(kind), version, text(word))
  private def stored(f: JdbcSinkFixture): Seq[String] =
    f.database.query("SELECT id, kind, version, word FROM t ORDER BY id, kind").map(_.mkString(" "))

  onSchema("upsert replaces rows of the same key and adds the others", schema, keyed) { f =>
    val run = f.newRun(query, upsert)
    write(f, run, 0, Seq(row(1, "a", 1, "one"), row(1, "b", 1, "two"), row(2, "a", 1, "three")))
    write(f, run, 1, Seq(row(2, "a", 2, "THREE"), row(3, "a", 1, "four"), row(1, "a", null, "ONE")))
    assert(stored(f) == Seq("1 a null ONE", "1 b 1 two", "2 a 2 THREE", "3 a 1 four"))
    assert(ledger(f, "total_rows") == 6L)
  }

  onSchema("among rows with the same key in one epoch the greatest order wins, NULL last", schema, keyed) { f =>
    val rows = Seq(row(1, "a", 2, "two"), row(1, "a", 10, "ten"), row(1, "a", null, "none"), row(2, "a", null, "only"))
    write(f, f.newRun(query, ordered), 0, rows ++ rows.reverse)
    assert(stored(f) == Seq("1 a 10 ten", "2 a null only"))
  }

  onSchema("rows with the same key and no order column are refused", schema, keyed) { f =>
    val rows = Seq(row(1, "a", 2, "two"), row(1, "a", 10, "ten"), row(1, "b", 1, "b"))
    val error = refused(Conditions.DuplicateKeys)(write(f, f.newRun(query, upsert), 0, rows))
    assert(error.values("rows") == "2" && error.values("columns") == "kind, id")
    assert(stored(f).isEmpty)
  }

  onSchema(
    "a NULL in a key column is refused: the row would never be replaced",
    schema,
    s"CREATE TABLE t (id BIGINT, kind $keyText, version INT, word TEXT, UNIQUE (id, kind))") { f =>
    val error = refused(Conditions.BadRow)(
      write(f, f.newRun(query, upsert), 0, Seq(row(1, "a", 1, "one"), InternalRow(2L, null, 1, text("two")))))
    assert(error.values("column") == "kind" && error.values("row") == "1" && error.values("partition") == "1")
  }

  onSchema(
    "rows that consist of keys only are upserted, too",
    new StructType().add("id", LongType),
    "CREATE TABLE t (id BIGINT PRIMARY KEY)") { f =>
    val run = f.newRun(query, Map("sinkId" -> "sink", "keyColumns" -> "id"))
    write(f, run, 0, Seq(InternalRow(1L), InternalRow(2L)))
    write(f, run, 1, Seq(InternalRow(2L), InternalRow(3L)))
    holds(f, 1 to 3)
  }

  onSchema(
    "columns that the query lacks keep their values and defaults",
    new StructType().add("id", LongType).add("word", StringType),
    "CREATE TABLE t (id BIGINT PRIMARY KEY, word TEXT, note VARCHAR(20) DEFAULT 'new')") { f =>
    val run = f.newRun(query, Map("sinkId" -> "sink", "keyColumns" -> "id"))
    write(f, run, 0, Seq(InternalRow(1L, text("one"))))
    f.database.execute("UPDATE t SET note = 'seen'")
    write(f, run, 1, Seq(InternalRow(1L, text("ONE")), InternalRow(2L, text("two"))))
    assert(
      f.database.query("SELECT id, word, note FROM t ORDER BY id").map(_.mkString(" ")) == Seq(
        "1 ONE seen",
        "2 two new"))
  }

  onSchema("complete mode replaces the table, even without rows", schema, keyed) { f =>
    val run = f.newRun(query, Map("sinkId" -> "sink"), OutputMode.Complete)
    write(f, run, 0, Seq(row(1, "a", 1, "one"), row(2, "a", 1, "two")))
    write(f, run, 1, Seq(row(2, "a", 2, "TWO"), row(3, "a", 1, "three")))
    write(f, run, 1, Seq(row(9, "a", 1, "never")))
    assert(stored(f) == Seq("2 a 2 TWO", "3 a 1 three"))
    write(f, run, 2, Nil)
    assert(stored(f).isEmpty)
  }

  onSchema("update mode requires keyColumns, and upserts", schema, keyed) { f =>
    refused(Conditions.KeyColumnsRequired)(
      write(f, f.newRun(query, Map("sinkId" -> "sink"), OutputMode.Update), 0, Seq(row(1, "a", 1, "one"))))
    val run = f.newRun(query, upsert, OutputMode.Update)
    write(f, run, 0, Seq(row(1, "a", 1, "one")))
    write(f, run, 1, Seq(row(1, "a", 2, "ONE")))
    assert(stored(f) == Seq("1 a 2 ONE"))
  }

  onSchema(
    "keys without a unique index of exactly these columns are refused at the start",
    schema,
    "CREATE TABLE t (id BIGINT PRIMARY KEY, kind TEXT, version INT, word TEXT)") { f =>
    refused(Conditions.KeyNotUnique)(f.newRun(query, upsert))
    refused(Conditions.OptionInvalid)(f.newRun(query, Map("keyColumns" -> "nosuch")))
    f.newRun(query, Map("keyColumns" -> "ID"))
  }
}
