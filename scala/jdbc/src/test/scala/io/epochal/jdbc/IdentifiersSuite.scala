package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{IntegerType, LongType, StringType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalacheck.rng.Seed
import org.scalatest.tagobjects
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions
import io.epochal.support.Examples

final class SqliteIdentifiersSuite extends Identifiers(Sqlite)
@Slow
final class StagedIdentifiersSuite extends Identifiers(PostgresBy.staged)

@Slow
final class MariadbIdentifiersSuite extends LongestNames(Mariadb)
@Slow
final class Mysql8IdentifiersSuite extends LongestNames(Mysql8)

/** Names of 64 characters, each of several bytes. */
abstract class LongestNames(databases: TestDatabases) extends SinkSuite(databases) {

  onSchema("names of 64 characters are legal, and longer ones are refused", new StructType().add("id", LongType)) { f =>
    def made(table: String, column: String): Map[String, String] =
      Map("sinkId" -> "sink", "createTable" -> "true", "dbtable" -> table, "columnMap" -> s"id:$column")
    refused(Conditions.ModeUnsupported)(f.newRun(query, made("t" * 65, "a")))
    refused(Conditions.ModeUnsupported)(f.newRun(query, made("t", "é" * 65)))
    write(f, f.newRun(query, made("é" * 64, "日" * 64)), 0, Seq(InternalRow(1L)))
    assert(f.database.one(s"SELECT ${"日" * 64} FROM ${"é" * 64}") == 1L)
  }
}

final class PostgresIdentifiersSuite extends Identifiers(Postgres) {

  onSchema("a name that the server would cut is refused", new StructType().add("id", LongType)) { f =>
    def made(table: String, column: String): Map[String, String] =
      Map("sinkId" -> "sink", "createTable" -> "true", "dbtable" -> table, "columnMap" -> s"id:$column")
    refused(Conditions.ModeUnsupported)(f.newRun(query, made("x" * 64, "a")))
    refused(Conditions.ModeUnsupported)(f.newRun(query, made("t", "é" * 32)))
    val aside =
      refused(Conditions.ModeUnsupported)(f.newRun(query, made("t", "a") + ("deadLetterTable" -> "é" * 32)))
    assert(aside.getMessage.contains("deadLetterTable") && !aside.getMessage.contains("columnMap"))
    write(f, f.newRun(query, made("x" * 63, "é" * 31)), 0, Seq(InternalRow(1L)))
    assert(f.database.one(s"SELECT ${"é" * 31} FROM ${"x" * 63}") == 1L)
  }

  onSchema(
    "rows of a partitioned table are routed to its partitions in every mode",
    new StructType().add("op", StringType).add("id", LongType).add("day", IntegerType).add("word", StringType),
    "CREATE SCHEMA other",
    "CREATE TABLE other.p (id BIGINT, day INT, word TEXT, PRIMARY KEY (day, id)) PARTITION BY RANGE (day)",
    "CREATE TABLE other.p1 PARTITION OF other.p FOR VALUES FROM (0) TO (10)",
    "CREATE TABLE other.p2 PARTITION OF other.p FOR VALUES FROM (10) TO (20) PARTITION BY HASH (id)",
    "CREATE TABLE other.p2a PARTITION OF other.p2 FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
    "CREATE TABLE other.p2b PARTITION OF other.p2 FOR VALUES WITH (MODULUS 2, REMAINDER 1)"
  ) { f =>
    def row(op: String, id: Long, day: Int, word: String): InternalRow =
      InternalRow(UTF8String.fromString(op), id, day, UTF8String.fromString(word))
    def stored: Set[String] =
      f.database.query("SELECT id, day, word, tableoid::regclass FROM other.p").map(_.take(3).mkString(" ")).toSet
    val options = Map("sinkId" -> "sink", "dbtable" -> "other.p", "keyColumns" -> "id,day", "opColumn" -> "op")
    val run = f.newRun(query, options)
    write(f, run, 0, (0 until 20).map(n => row("i", n.toLong, n, s"$n")))
    assert(f.database.one("SELECT count(*) FROM other.p2") == 10L)
    write(f, run, 1, (5 until 15).map(n => row(if (n % 2 == 0) "d" else "u", n.toLong, n, s"new $n")))
    assert(
      stored == (0 until 20)
        .filter(n => n < 5 || n > 14 || n % 2 == 1)
        .map { n =>
          s"$n $n ${if (n < 5 || n > 14) "" else "new "}$n"
        }
        .toSet)
    val error = intercept[Exception](write(f, run, 2, Seq(row("i", 1, 99, "no partition"))))
    assert(error.getMessage.contains("23514"))
  }

  onSchema(
    "generated and default columns are left to the server",
    new StructType().add("id", LongType).add("word", StringType),
    "CREATE SEQUENCE numbers",
    """CREATE TABLE t (id BIGINT PRIMARY KEY, word TEXT, made TIMESTAMPTZ NOT NULL DEFAULT now(),
      |number BIGINT GENERATED ALWAYS AS IDENTITY, long INT GENERATED ALWAYS AS (length(word)) STORED,
      |serial INT NOT NULL DEFAULT nextval('numbers'))""".stripMargin
  ) { f =>
    val run = f.newRun(query, Map("sinkId" -> "sink", "keyColumns" -> "id"))
    write(f, run, 0, numbers(f, 0 until 2))
    write(f, run, 1, Seq(InternalRow(1L, UTF8String.fromString("a longer word"))))
    assert(
      f.database.query("SELECT id, number, long, serial, made IS NOT NULL FROM t ORDER BY id").map(_.mkString(" ")) ==
        Seq("0 1 5 1 true", "1 2 13 2 true"))
  }
}

/** Every legal identifier is quoted wherever it occurs. */
abstract class Identifiers(databases: TestDatabases) extends SinkSuite(databases) {

  private val chars: Gen[Char] = Gen.frequency(
    6 -> Gen.alphaNumChar,
    3 -> Gen.oneOf("\"'.,;:()[]{}%$?\\/ \t\n-_@#!|*`".toSeq),
    2 -> Gen.oneOf("äßİıé日本Ω".toSeq))
  private val keywords =
    Seq("select", "table", "user", "order", "group", "Desc", "NULL", "excluded", "epochal_deletes", "t", "w", "s")
  private val name: Gen[String] = Gen.frequency(
    1 -> Gen.oneOf(keywords),
    4 -> Gen.nonEmptyListOf(chars).map(_.mkString).map(cut),
    1 -> Gen.const("x" * 63))

  /** Cuts to 63 bytes. */
  private def cut(text: String): String =
    Iterator.iterate(text)(_.dropRight(1)).find(_.getBytes("UTF-8").length <= 63).get

  private def quoted(text: String): String = "\"" + text.replace("\"", "\"\"") + "\""

  private val cases = for {
    table <- name.suchThat(n => !n.toLowerCase(java.util.Locale.ROOT).startsWith("sqlite_"))
    columns <- Gen
      .listOfN(5, name)
      .suchThat(names => names.map(_.toLowerCase(java.util.Locale.ROOT)).distinct.size == 5)
  } yield (table, columns)

  test(s"${databases.kind}: tables and columns of any name are written, created and extended", tagobjects.Slow) {
    val seed = Seed.random()
    info(s"seed ${seed.toBase64}")
    val parameters = Gen.Parameters.default.withSize(30)
    (0 until Examples.of(45)).foldLeft(seed) { (seed, i) =>
      val (table, columns) = cases.pureApply(parameters, seed)
      withClue(s"$i: $table ${columns.mkString("|")}")(roundTrip(table, columns))
      seed.slide
    }
  }

  test(s"${databases.kind}: names may contain lines that look like a margin") {
    roundTrip("t\n|t", Seq("o\n  |p", "i\n|d", "k\n|nd", "w\n|rd", "m\n|re"))
  }

  private def roundTrip(table: String, columns: Seq[String]): Unit = {
    val Seq(op, id, kind, word, more) = columns
    val schema = StructType(
      Seq(
        StructField(op, StringType),
        StructField(id, LongType),
        StructField(kind, IntegerType),
        StructField(word, StringType)))
    val f = new JdbcSinkFixture(databases.newDatabase(), schema)
    try {
      val options = Map(
        "sinkId" -> "sink",
        "dbtable" -> quoted(table),
        "createTable" -> "true",
        "keyColumns" -> Seq(kind, id).map(quoted).mkString(","),
        "opColumn" -> op,
        "orderColumn" -> kind,
        "updateColumns" -> quoted(word),
        "columnMap" -> s"${quoted(word)}:${quoted(more)}",
        "deadLetterTable" -> quoted(cut("bad" + table).take(20))
      )
      def row(what: String, n: Long, text: String): InternalRow =
        InternalRow(UTF8String.fromString(what), n, n.toInt, UTF8String.fromString(text))
      val run = f.newRun(query, options)
      write(f, run, 0, Seq(row("i", 1, "one"), row("i", 2, "two"), row("i", 3, "\u0000")))
      write(f, run, 1, Seq(row("d", 1, ""), row("u", 2, "TWO"), row("i", 2, "TWO")))
      val stored = f.database.query(s"SELECT ${quoted(id)}, ${quoted(more)} FROM ${quoted(table)}").map(_.mkString(" "))
      assert(stored == Seq("2 TWO"))
      val wider = f.newRun(query, options - "columnMap" + ("addColumns" -> "true"))
      write(f, wider, 2, Seq(row("i", 2, "added")))
      assert(
        f.database.query(s"SELECT ${quoted(more)}, ${quoted(word)} FROM ${quoted(table)}") == Seq(Seq("TWO", "added")))
    } finally f.close()
  }
}
