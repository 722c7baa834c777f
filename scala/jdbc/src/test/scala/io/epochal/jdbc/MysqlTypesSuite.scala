package io.epochal.jdbc

import java.nio.charset.StandardCharsets.UTF_8
import java.time.{Instant, LocalDate, LocalDateTime, ZoneOffset}
import java.util.HexFormat

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions

@Slow
final class MariadbTypesSuite extends MysqlTypes(Mariadb)
@Slow
final class Mysql8TypesSuite extends MysqlTypes(Mysql8)

/** Values that MySQL stores unchanged, and values that it would silently change. */
abstract class MysqlTypes(databases: TestDatabases) extends SinkSuite(databases) {

  private def text(value: String): UTF8String = UTF8String.fromString(value)
  private def micros(value: String): Long = {
    val at = Instant.parse(value)
    at.getEpochSecond * 1000000L + at.getNano / 1000
  }

  private val every = new StructType()
    .add("a", BooleanType)
    .add("b", ByteType)
    .add("c", ShortType)
    .add("d", IntegerType)
    .add("e", LongType)
    .add("f", FloatType)
    .add("g", DoubleType)
    .add("h", DecimalType(38, 18))
    .add("i", StringType)
    .add("j", BinaryType)
    .add("k", DateType)
    .add("l", TimestampType)
    .add("m", TimestampNTZType)

  private def decimal(value: String): Decimal = Decimal(BigDecimal(value), 38, 18)

  onSchema("every type reads back unchanged from a table created for it", every) { f =>
    val rows = Seq(
      InternalRow(
        true,
        Byte.MaxValue,
        Short.MinValue,
        Int.MaxValue,
        Long.MinValue,
        1.1f,
        0.1 + 0.2,
        decimal("12345678901234567890.123456789012345678"),
        text("it's \\ \"日本語\" 🙂 %_"),
        Array[Byte](0, -1, 39, 92),
        LocalDate.of(1, 1, 1).toEpochDay.toInt,
        micros("2038-01-19T03:14:07.999999Z"),
        micros("9999-12-31T23:59:59.999999Z")
      ),
      InternalRow(
        false,
        Byte.MinValue,
        Short.MaxValue,
        Int.MinValue,
        Long.MaxValue,
        Float.MinPositiveValue,
        Double.MaxValue,
        decimal("-0.000000000000000001"),
        text(""),
        Array.emptyByteArray,
        LocalDate.of(1582, 10, 10).toEpochDay.toInt,
        micros("1970-01-01T00:00:01Z"),
        micros("0001-01-01T00:00:00.000001Z")
      ),
      InternalRow.fromSeq(Seq.fill(every.size)(null))
    )
    write(f, f.newRun(query, Map("sinkId" -> "sink", "createTable" -> "true")), 0, rows)
    val stored = f.database.query(
      "SELECT a, b, c, d, e, f, CAST(g AS CHAR), h, i, HEX(j), CAST(k AS CHAR), CAST(l AS CHAR), CAST(m AS CHAR) FROM t")
    def shown(n: Int): Seq[String] = stored(n).map(String.valueOf)
    assert(
      shown(0).patch(5, Nil, 1) == Seq(
        "true",
        "127",
        "-32768",
        "2147483647",
        "-9223372036854775808",
        "0.30000000000000004",
        "12345678901234567890.123456789012345678",
        "it's \\ \"日本語\" 🙂 %_",
        "00FF275C",
        "0001-01-01",
        "2038-01-19 03:14:07.999999",
        "9999-12-31 23:59:59.999999"
      ))
    assert(
      shown(1).patch(5, Nil, 2) == Seq(
        "false",
        "-128",
        "32767",
        "-2147483648",
        "9223372036854775807",
        "-1E-18",
        "",
        "",
        "1582-10-10",
        "1970-01-01 00:00:01.000000",
        "0001-01-01 00:00:00.000001"
      ))
    assert(f.database.one("SELECT count(*) FROM t WHERE g = 1.7976931348623157e308").toString == "1")
    assert(stored(2).forall(_ == null))
  }

  private def bad(column: String, dataType: DataType, value: Any): Unit =
    onSchema(
      s"${dataType.sql} $value is a bad row for $column",
      new StructType().add("id", LongType).add("word", dataType),
      s"CREATE TABLE t (id BIGINT, word $column)") { f =>
      val run = f.newRun(query)
      assert(refused(Conditions.BadRow)(write(f, run, 0, Seq(InternalRow(1L, value)))).values("column") == "word")
      write(f, run, 0, Seq(InternalRow(1L, null)))
    }

  bad("VARCHAR(3)", StringType, text("four"))
  bad("VARCHAR(3)", StringType, text("ab  "))
  Seq("latin1" -> "日本", "latin1" -> "aé🙂", "ascii" -> "é", "utf8" -> "🙂", "gbk" -> "한글", "latin2" -> "ñ").foreach {
    case (set, value) => bad(s"VARCHAR(20) CHARACTER SET $set", StringType, text(value))
  }
  bad("CHAR(5)", StringType, text("ab "))
  bad("TINYTEXT", StringType, text("é" * 128))
  bad("VARBINARY(2)", BinaryType, Array[Byte](1, 2, 3))
  bad("BINARY(4)", BinaryType, Array[Byte](1, 2, 3))
  bad("INT UNSIGNED", IntegerType, -1)
  bad("DOUBLE", DoubleType, Double.NaN)
  bad("FLOAT", FloatType, Float.PositiveInfinity)
  bad("DATETIME(3)", TimestampNTZType, 1L)
  bad("TIMESTAMP(6) NULL", TimestampType, micros("2038-01-19T03:14:08Z"))
  bad("TIMESTAMP(6) NULL", TimestampType, 0L)

  private def refuses(column: String, dataType: DataType): Unit =
    onSchema(
      s"${dataType.sql} is refused for $column at the start",
      new StructType().add("word", dataType),
      s"CREATE TABLE t (word $column)")(f => refused(Conditions.ColumnTypeMismatch)(f.newRun(query)))

  refuses("INT", LongType)
  refuses("DECIMAL(10,2)", DecimalType(10, 3))
  refuses("FLOAT(7,2)", FloatType)
  refuses("DATETIME(6)", TimestampType)
  refuses("ENUM('a')", StringType)
  refuses("BIGINT GENERATED ALWAYS AS (1)", LongType)

  onSchema(
    "every text is stored that its column's character set has, and what it lacks is named without the value",
    new StructType().add("id", LongType).add("word", StringType),
    "CREATE TABLE t (id BIGINT, word VARCHAR(20) CHARACTER SET latin1)",
    "CREATE TABLE u (id BIGINT, word VARCHAR(20) CHARACTER SET gbk)",
    "CREATE TABLE v (id BIGINT, word VARCHAR(20) CHARACTER SET utf8)"
  ) { f =>
    Seq("t" -> "é€ÿ\u0081?", "u" -> "漢字 plain", "v" -> "日本é").foreach { case (table, word) =>
      write(
        f,
        f.newRun(s"$query $table", Map("sinkId" -> table, "dbtable" -> table)),
        0,
        Seq(InternalRow(1L, text(word))))
      // Converted by the server: drivers decode some characters of latin1 otherwise.
      val stored = f.database.one(s"SELECT HEX(CONVERT(word USING utf8mb4)) FROM $table")
      assert(stored == HexFormat.of.withUpperCase.formatHex(word.getBytes(UTF_8)))
    }
    val error = refused(Conditions.BadRow)(
      write(f, f.newRun(otherQuery, Map("onNewQuery" -> "append:t")), 0, Seq(InternalRow(1L, text("é日本")))))
    assert(
      error.values("reason") == "its character 2 is not in the column's character set latin1, as all are in utf8mb4")
  }

  onSchema(
    "the replacement of U+0000 must be in the character set, too",
    new StructType().add("id", LongType).add("word", StringType),
    "CREATE TABLE t (id BIGINT, word VARCHAR(20) CHARACTER SET latin1)") { f =>
    val rows = Seq(InternalRow(1L, text("a\u0000")))
    refused(Conditions.BadRow)(write(f, f.newRun(query, Map("nulCharacter" -> "replace")), 0, rows))
    write(f, f.newRun(query, Map("nulCharacter" -> "strip")), 0, rows)
    assert(f.database.one("SELECT word FROM t") == "a")
  }

  on("a 0 stays a 0 in an AUTO_INCREMENT column", "CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, word TEXT)") {
    f =>
      write(f, f.newRun(query), 0, numbers(f, 0 until 3))
      holds(f, 0 until 3)
  }

  on("a table of a non-transactional engine is refused by name", s"$table ENGINE=MyISAM") { f =>
    val error = refused(Conditions.ModeUnsupported)(f.newRun(query))
    assert(error.getMessage.contains("MyISAM") && error.getMessage.contains("ENGINE=InnoDB"))
  }

  on(
    "a table's comment is preserved, and ALTER, OPTIMIZE and TRUNCATE keep its identity",
    s"$table COMMENT 'it''s mine'") { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    f.database.execute("ALTER TABLE t ADD COLUMN more INT", "OPTIMIZE TABLE t", "TRUNCATE TABLE t")
    write(f, f.newRun(query), 1, numbers(f, 10 until 20))
    holds(f, 10 until 20)
    val comment = f.database.one(
      "SELECT table_comment FROM information_schema.tables WHERE table_name = 't' AND table_schema = DATABASE()")
    assert(comment.toString.matches("it's mine \\[epochal_target_\\d+\\]"))
  }

  onSchema(
    "an upsert never touches a row that collides in another unique index",
    new StructType().add("id", LongType).add("word", StringType),
    "CREATE TABLE t (id BIGINT PRIMARY KEY, word VARCHAR(20) UNIQUE)") { f =>
    val run = f.newRun(query, Map("sinkId" -> "sink", "keyColumns" -> "id"))
    write(f, run, 0, Seq(InternalRow(1L, text("one")), InternalRow(2L, text("two"))))
    refused(Conditions.DatabaseError)(write(f, run, 1, Seq(InternalRow(3L, text("one")))))
    assert(f.database.query("SELECT id, word FROM t ORDER BY id").map(_.mkString(" ")) == Seq("1 one", "2 two"))
    write(f, run, 1, Seq(InternalRow(1L, text("one")), InternalRow(3L, text("three"))))
    holds(f, 1 to 3)
  }

  on("a server that has become a replica is retried until it is a primary", table) { f =>
    f.database.execute(
      "DROP USER IF EXISTS plain",
      "CREATE USER plain",
      "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, CREATE TEMPORARY TABLES ON *.* TO plain")
    val plain =
      Map("sinkId" -> "sink", "url" -> f.database.url.replace("user=root", "user=plain"))
    val run = f.newRun(query, plain ++ Map("retry.maxAttempts" -> "2"))
    write(f, run, 0, numbers(f, 0 until 10))
    f.database.execute("SET GLOBAL read_only = ON")
    try {
      assert(
        refused(Conditions.DatabaseError)(write(f, run, 1, numbers(f, 10 until 20))).getMessage.contains("read-only"))
      assert(run.metrics("retries") == "1")
    } finally f.database.execute("SET GLOBAL read_only = OFF")
    write(f, run, 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
  }

  test("dates and times are the same as bytes") {
    val iso = new insert.IsoBytes
    val random = new scala.util.Random(1)
    val edges =
      Seq(insert.IsoTime.FirstMicro, insert.IsoTime.FirstMicro + 1, -1L, 0L, 86400000000L, insert.IsoTime.LastMicro)
    (edges ++ Seq.fill(1000)(random.between(insert.IsoTime.FirstMicro, insert.IsoTime.LastMicro))).foreach { micros =>
      val bytes = new Array[Byte](26)
      iso.timestamp(micros, bytes, 0)
      assert(new String(bytes, "US-ASCII") == insert.IsoTime.timestamp(micros))
    }
  }

  test("dates and times are texts in the proleptic calendar") {
    assert(insert.IsoTime.date(LocalDate.of(1500, 2, 28).toEpochDay.toInt) == "1500-02-28")
    val at = LocalDateTime.of(2026, 1, 31, 12, 30, 0, 1000).toInstant(ZoneOffset.UTC)
    assert(insert.IsoTime.timestamp(at.getEpochSecond * 1000000L + 1, "") == "2026-01-31T12:30:00.000001")
  }
}
