package io.epochal.jdbc

import java.time.{LocalDate, LocalDateTime, OffsetDateTime}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions
import io.epochal.jdbc.dialect.Dialects
import io.epochal.jdbc.generic.GenericDialect
import io.epochal.jdbc.mysql.MysqlDialect
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.{JdbcDriver, LoginDataSource}

final class H2GenericDialectSuite extends GenericDialects(InProcess.H2) {

  on("a view is refused", table, "CREATE VIEW v AS SELECT * FROM t") { f =>
    refused(Conditions.ModeUnsupported)(f.newRun(query, Map("dbtable" -> "v")))
  }

  test("a dialect named in a service file takes precedence over Epochal's own") {
    assert(Dialects.of("jdbc:h2:mem:registered").exists(_.isInstanceOf[RegisteredDialect]))
    assert(Dialects.of("jdbc:h2:mem:other").exists(_.getClass == classOf[GenericDialect]))
  }

  test("a URL without a driver is refused, with the jar that contains it") {
    val settings = JdbcOptions.read(Map("url" -> "jdbc:nosuch:x", "dbtable" -> "t")).fold(throw _, identity).connection
    def refusal(driver: Option[JdbcDriver]): String =
      refused(Conditions.DriverMissing)(new LoginDataSource(settings, driver, Map.empty)).getMessage
    val absent = JdbcDriver("com.example.Driver", Some("com.example:driver"))
    assert(refusal(Some(absent)).contains("--packages com.example:driver:"))
    assert(refusal(None).contains("no driver on the class path accepts this URL"))
    assert(MysqlDialect.driver("jdbc:mysql://127.0.0.1/x").flatMap(_.artifact).contains("com.mysql:mysql-connector-j"))
  }

  Seq(
    "jdbc:postgres://127.0.0.1/x" -> "; did you mean jdbc:postgresql:",
    "postgresql://127.0.0.1/x" -> "; it must begin with 'jdbc:'").foreach { case (url, suggestion) =>
    test(s"the refusal of $url suggests the URL that was meant") {
      val settings = JdbcOptions.read(Map("url" -> url, "dbtable" -> "t")).fold(throw _, identity).connection
      val refusal = refused(Conditions.DriverMissing)(new LoginDataSource(settings, None, Map.empty)).getMessage
      assert(refusal.contains(s"accepts this URL$suggestion"))
    }
  }
}

@Slow
final class HsqldbGenericDialectSuite extends GenericDialects(InProcess.Hsqldb)

/** Databases without a dialect of their own. */
abstract class GenericDialects(databases: TestDatabases) extends SinkSuite(databases) {

  private val every = new StructType()
    .add("a", BooleanType)
    .add("b", ByteType)
    .add("c", ShortType)
    .add("d", IntegerType)
    .add("e", LongType)
    .add("f", FloatType)
    .add("g", DoubleType)
    .add("h", DecimalType(20, 5))
    .add("i", VarcharType(20))
    .add("j", BinaryType)
    .add("k", DateType)
    .add("l", TimestampType)
    .add("m", TimestampNTZType)

  private val micros = 1769862600123456L

  onSchema("every type reads back unchanged from a table created for it", every) { f =>
    val rows = Seq(
      InternalRow(
        true,
        1.toByte,
        2.toShort,
        3,
        4L,
        1.5f,
        0.1 + 0.2,
        Decimal(BigDecimal("123456789012345.54321"), 20, 5),
        UTF8String.fromString("it's 日本語 🙂"),
        Array[Byte](0, -1),
        LocalDate.of(1582, 10, 15).toEpochDay.toInt,
        micros,
        micros
      ),
      InternalRow.fromSeq(Seq.fill(every.size)(null))
    )
    write(f, f.newRun(query, Map("sinkId" -> "sink", "createTable" -> "true")), 0, rows)
    assert(
      f.database
        .query("SELECT \"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\", \"h\", \"i\" FROM t")
        .map(_.map(String.valueOf)) == Seq(
        Seq("true", "1", "2", "3", "4", "1.5", "0.30000000000000004", "123456789012345.54321", "it's 日本語 🙂"),
        Seq.fill(9)("null")))
    val connection = f.database.connect()
    try {
      val stored =
        connection.createStatement().executeQuery("SELECT \"j\", \"k\", \"l\", \"m\" FROM t WHERE \"a\" = true")
      stored.next(): Unit
      assert(stored.getBytes(1).toSeq == Seq[Byte](0, -1))
      assert(stored.getObject(2, classOf[LocalDate]) == LocalDate.of(1582, 10, 15))
      assert(
        stored.getObject(3, classOf[OffsetDateTime]).toInstant == OffsetDateTime
          .parse("2026-01-31T12:30:00.123456Z")
          .toInstant)
      assert(stored.getObject(4, classOf[LocalDateTime]) == LocalDateTime.parse("2026-01-31T12:30:00.123456"))
    } finally connection.close()
  }

  onSchema("a day before the Gregorian calendar is refused", new StructType().add("day", DateType)) { f =>
    val run = f.newRun(query, Map("sinkId" -> "sink", "createTable" -> "true"))
    val day = LocalDate.of(1582, 10, 14).toEpochDay.toInt
    assert(refused(Conditions.BadRow)(write(f, run, 0, Seq(InternalRow(day)))).getMessage.contains("before 1582-10-15"))
  }

  on("upserts are refused by name", "CREATE TABLE t (id BIGINT PRIMARY KEY, word VARCHAR(9))") { f =>
    assert(
      refused(Conditions.ModeUnsupported)(f.newRun(query, Map("keyColumns" -> "id"))).getMessage.contains("Append"))
  }

  onSchema(
    "a text that is too long is an error, and nothing is written",
    new StructType().add("id", LongType).add("word", StringType),
    "CREATE TABLE t (id BIGINT, word VARCHAR(3))") { f =>
    refused(Conditions.DatabaseError)(write(f, f.newRun(query), 0, Seq(f.row(1))))
    holds(f, 0 until 0)
  }

  on("rows are also loaded by many statements", table) { f =>
    write(f, f.newRun(query, Map("sinkId" -> "sink", "batchSize" -> "7")), 0, numbers(f, 0 until 1000))
    holds(f, 0 until 1000)
  }
}

/** A third-party dialect, listed in `META-INF/services`. */
final class RegisteredDialect extends GenericDialect {
  override def handles(url: String): Boolean = url == "jdbc:h2:mem:registered"
}
