package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalacheck.rng.Seed
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions
import io.epochal.core.failpoint.Failpoints
import io.epochal.core.ledger.ContentDigest

final class SqliteDeadLettersSuite extends DeadLetters(Sqlite)
@Slow
final class StagedDeadLettersSuite extends DeadLetters(PostgresBy.staged)
@Slow
final class MariadbDeadLettersSuite extends MysqlDeadLetters(Mariadb)
@Slow
final class Mysql8DeadLettersSuite extends MysqlDeadLetters(Mysql8)
@Slow
final class PreparedDeadLettersSuite extends DeadLetters(PostgresBy.prepared)

final class PostgresDeadLettersSuite extends DeadLetters(Postgres) {

  onSchema(
    "the row is stored as JSON with all digits",
    new StructType()
      .add("id", LongType)
      .add("at", TimestampType)
      .add("local", TimestampNTZType)
      .add("day", DateType)
      .add("price", DecimalType(20, 5))
      .add("word", StringType),
    "CREATE TABLE t (id BIGINT, at TIMESTAMPTZ, local TIMESTAMP, day DATE, price NUMERIC(20,5), word TEXT NOT NULL)") {
    f =>
      val micros = 1769860800123456L
      val price = Decimal(new java.math.BigDecimal("123456789012345.67890"), 20, 5)
      write(f, f.newRun(query, lenient), 0, Seq(InternalRow(1L, micros, micros, 1, price, null)))
      assert(
        f.database.one("SELECT row_json FROM bad") ==
          """{"id":1,"at":"2026-01-31T12:00:00.123456Z","local":"2026-01-31T12:00:00.123456","day":"1970-01-02","price":123456789012345.67890,"word":null}""")
  }
}

abstract class MysqlDeadLetters(databases: TestDatabases) extends DeadLetters(databases) {

  onSchema(
    "many bad rows that are long together fit into its messages",
    new StructType().add("id", LongType).add("head", StringType).add("word", StringType),
    "CREATE TABLE t (id BIGINT, head LONGTEXT, word TEXT)") { f =>
    f.database.execute("SET GLOBAL max_allowed_packet = 4194304")
    try {
      val text = "日本 \\ ' 🙂 " * 5000
      val rows = (0 until 190).map(n =>
        InternalRow(n.toLong, UTF8String.fromString(text), UTF8String.fromString(if (n < 150) "\u0000" else "w")))
      write(f, f.newRun(query, lenient), 0, rows)
      assert(f.database.one("SELECT count(*) FROM t") == 40L)
      assert(f.database.one("SELECT count(*) FROM bad") == 150L)
      assert(
        f.database
          .one("SELECT row_json FROM bad WHERE \"row_number\" = 1 AND partition_id = 0")
          .toString
          .contains("日本 \\\\ ' 🙂"))
    } finally f.database.execute("SET GLOBAL max_allowed_packet = 67108864")
  }
}

/** Bad rows go to `deadLetterTable`, in their epoch's transaction. */
abstract class DeadLetters(databases: TestDatabases) extends SinkSuite(databases) {

  protected val lenient: Map[String, String] = Map("sinkId" -> "sink", "deadLetterTable" -> "bad")
  private val columns = "sink_id, epoch, partition_id, \"row_number\", column_name"

  private def bad(n: Long): InternalRow = InternalRow(n, UTF8String.fromString("\u0000"))
  private def letters(f: JdbcSinkFixture): Seq[String] =
    f.database
      .query("SELECT " + columns + " FROM bad ORDER BY epoch, partition_id, \"row_number\"")
      .map(_.mkString(" "))

  on("bad rows are set aside with row, column, reason and position; the others are stored", table) { f =>
    val run = f.newRun(query, lenient)
    write(f, run, 0, numbers(f, 0 until 3) ++ Seq(bad(100), f.row(3), f.row(4)))
    write(f, run, 1, Seq(bad(101), f.row(5), bad(102)))
    holds(f, 0 until 6)
    assert(letters(f) == Seq("sink 0 1 1 word", "sink 1 0 1 word", "sink 1 1 2 word"))
    val letter = f.database.query("SELECT row_json, reason, recorded_at FROM bad ORDER BY epoch, \"row_number\"").head
    assert(letter.head == "{\"id\":100,\"word\":\"\\u0000\"}")
    assert(letter(1).toString.endsWith("set nulCharacter to strip or replace it") && letter(2) != null)
    assert(ledger(f, "total_rows") == 9L && run.metrics("badRows") == "2")
  }

  on("an epoch that is replayed or fails leaves no dead letter twice", table) { f =>
    val run = f.newRun(query, lenient)
    Failpoints.arm("rows.loaded=disconnect@1")
    write(f, run, 0, Seq(f.row(0), bad(100)))
    write(f, run, 0, Seq(f.row(0), bad(100)))
    val next = f.newRun(query, lenient)
    write(f, next, 0, Seq(f.row(0), bad(100)))
    Failpoints.arm("rows.loaded=fail@1")
    intercept[IllegalStateException](write(f, next, 1, Seq(f.row(1), bad(101))))
    holds(f, 0 until 1)
    assert(letters(f) == Seq("sink 0 1 1 word"))
    write(f, f.newRun(query, lenient), 1, Seq(f.row(1), bad(101)))
    assert(letters(f) == Seq("sink 0 1 1 word", "sink 1 1 1 word"))
  }

  on("an epoch of bad rows only is applied", table) { f =>
    val run = f.newRun(query, lenient)
    write(f, run, 0, Seq(bad(1), bad(2)))
    write(f, run, 1, Seq(f.row(0)))
    holds(f, 0 until 1)
    assert(letters(f).size == 2 && ledger(f, "last_epoch") == 1L)
  }

  on("more than maxBadRows fail the epoch, in one task or across tasks", table) { f =>
    val run = f.newRun(query, lenient + ("maxBadRows" -> "3"))
    write(f, run, 0, Seq(bad(1), f.row(0), f.row(1), bad(2), bad(3)))
    val inTask = refused(Conditions.TooManyBadRows)(write(f, run, 1, (1 to 10).map(n => bad(n.toLong))))
    assert(inTask.values("row") == "1" && inTask.getMessage.contains("maxBadRows=3"))
    refused(Conditions.TooManyBadRows)(write(f, run, 1, (1 to 4).map(n => bad(n.toLong))))
    holds(f, 0 until 2)
    assert(letters(f).size == 3)
  }

  on("without deadLetterTable the first bad row fails its epoch", table) { f =>
    refused(Conditions.BadRow)(write(f, f.newRun(query), 0, Seq(f.row(0), bad(1))))
    refused(Conditions.OptionConflict)(f.newRun(query, Map("maxBadRows" -> "3")))
  }

  on("a table of other columns, and the target itself, are refused", table, "CREATE TABLE bad (id BIGINT)") { f =>
    val error = refused(Conditions.ColumnMissing)(f.newRun(query, lenient))
    assert(error.values("column").startsWith("columns sink_id, epoch,") && error.getMessage.contains("deadLetterTable"))
    refused(Conditions.OptionConflict)(f.newRun(query, Map("deadLetterTable" -> "t")))
  }

  onSchema(
    "a bad row is discarded as a whole, at any column, and the digest covers all rows",
    new StructType().add("id", LongType).add("head", StringType).add("word", StringType),
    "CREATE TABLE t (id BIGINT, head TEXT, word TEXT)") { f =>
    val seed = Seed.random()
    info(s"seed ${seed.toBase64}")
    val row = for {
      length <- Gen.frequency(5 -> Gen.choose(0, 30), 2 -> Gen.choose(5000, 20000))
      broken <- Gen.oneOf(true, false)
    } yield (length, broken)
    val rows = Gen.listOfN(300, row).pureApply(Gen.Parameters.default, seed)
    def fill(rows: Seq[(Int, Boolean)]): Seq[InternalRow] = rows.zipWithIndex.map { case ((length, broken), i) =>
      val word = UTF8String.fromString(if (broken) "\u0000" else "w")
      InternalRow(i.toLong, UTF8String.fromString("x" * length), word)
    }
    write(f, f.newRun(query, lenient), 0, fill(rows))
    val good = rows.zipWithIndex.collect { case ((length, false), i) => s"$i $length w" }
    val stored = f.database.query("SELECT id, length(head), word FROM t ORDER BY id").map(_.mkString(" "))
    assert(stored == good)
    assert(letters(f).size == rows.count(_._2))
    val other = new JdbcSinkFixture(databases.newDatabase(), f.schema)
    try {
      other.database.execute("CREATE TABLE t (id BIGINT, head TEXT, word TEXT)")
      val reordered = fill(rows).reverse
      write(other, other.newRun(query, lenient), 0, reordered)
      def digest(fixture: JdbcSinkFixture): ContentDigest =
        ContentDigest.parse(ledger(fixture, "\"rows\"").asInstanceOf[Long], ledger(fixture, "digest").toString)
      assert(digest(other) == digest(f) && digest(f).rows == 300L)
    } finally other.close()
  }
}
