package io.epochal.jdbc

import java.math.{BigDecimal => JavaDecimal}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.core.error.Conditions
import io.epochal.jdbc.option.JdbcOptions

final class SqliteTypesSuite extends SinkSuite(Sqlite) {

  private val types = Seq(
    BooleanType,
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DecimalType(38, 18),
    StringType,
    BinaryType,
    DateType,
    TimestampType,
    TimestampNTZType)
  private val schema = StructType(types.zipWithIndex.map { case (kind, i) => StructField(s"c$i", kind) })
  private val create = Map("sinkId" -> "sink", "createTable" -> "true")

  onSchema("every type is stored as documented", schema) { f =>
    val micros = 1767225600123456L // 2026-01-01T00:00:00.123456Z
    write(
      f,
      f.newRun(query, create),
      0,
      Seq(
        InternalRow(
          true,
          1.toByte,
          2.toShort,
          3,
          Long.MinValue,
          0.1f,
          1e300,
          Decimal(new JavaDecimal("12345678901234567890.000000000000000001"), 38, 18),
          UTF8String.fromString("007"),
          Array[Byte](0, -1),
          20454,
          micros,
          micros),
        InternalRow(
          false,
          -1.toByte,
          -2.toShort,
          -3,
          0L,
          Float.NegativeInfinity,
          -0.0,
          Decimal(new JavaDecimal("-0.5"), 38, 18),
          UTF8String.fromString(""),
          Array.emptyByteArray,
          -719162,
          -62135596800000000L,
          253402300799999999L),
        InternalRow.fromSeq(types.map(_ => null))))
    val rows = f.database
      .query("SELECT * FROM t ORDER BY rowid")
      .map(_.map {
        case array: Array[Byte] => array.mkString("[", ",", "]")
        case other              => String.valueOf(other)
      })
    assert(
      rows.head == Seq(
        "1",
        "1",
        "2",
        "3",
        Long.MinValue.toString,
        0.1f.toDouble.toString,
        "1.0E300",
        "12345678901234567890.000000000000000001",
        "007",
        "[0,-1]",
        "2026-01-01",
        "2026-01-01T00:00:00.123456Z",
        "2026-01-01T00:00:00.123456"))
    assert(
      rows(1) == Seq(
        "0",
        "-1",
        "-2",
        "-3",
        "0",
        "-Infinity",
        "0.0",
        "-0.500000000000000000",
        "",
        "[]",
        "0001-01-01",
        "0001-01-01T00:00:00.000000Z",
        "9999-12-31T23:59:59.999999"))
    assert(rows(2).forall(_ == "null"))
    assert(f.database.one("SELECT count(DISTINCT typeof(c8)) FROM t") == 2)
  }

  private def bad(kind: DataType, values: Any*): Unit =
    onSchema(
      s"$kind: a value that SQLite would change is a bad row",
      new StructType().add("id", LongType).add("a", kind)) { f =>
      values.foreach(value =>
        assert(
          refused(Conditions.BadRow)(write(f, f.newRun(query, create), 0, Seq(InternalRow(1L, value))))
            .values("column") == "a"))
    }

  bad(DoubleType, Double.NaN)
  bad(FloatType, Float.NaN)
  bad(DateType, -719163, 2932897)
  bad(TimestampType, -62135596800000001L, 253402300800000000L)

  test("a column whose affinity would change values is refused") {
    val refusedPairs = Seq(
      StringType -> "NUMERIC",
      StringType -> "INT",
      LongType -> "TEXT",
      LongType -> "REAL",
      DoubleType -> "INTEGER",
      DecimalType(16, 2) -> "DECIMAL(16,2)",
      BinaryType -> "TEXT",
      BooleanType -> "VARCHAR(5)")
    val accepted = Seq(
      StringType -> "VARCHAR(10)",
      StringType -> "",
      LongType -> "BIGINT",
      IntegerType -> "DOUBLE",
      DoubleType -> "FLOAT",
      DecimalType(15, 2) -> "DECIMAL(15,2)",
      DecimalType(38, 2) -> "TEXT",
      BinaryType -> "BLOB",
      BooleanType -> "BOOLEAN",
      DateType -> "DATE",
      TimestampType -> "DATETIME")
    import sqlite.SqliteType
    refusedPairs.foreach { case (kind, declared) =>
      assert(SqliteType.fits(kind, SqliteType.of(declared)).isLeft, s"$kind $declared")
    }
    accepted.foreach { case (kind, declared) =>
      assert(SqliteType.fits(kind, SqliteType.of(declared)).isRight, s"$kind $declared")
    }
  }

  onSchema(
    "rows of many chunks and batches arrive complete",
    new StructType().add("id", LongType).add("word", StringType)) { f =>
    val rows = (0 until 20001).map(n => InternalRow(n.toLong, UTF8String.fromString("x" * (n % 977))))
    write(f, f.newRun(query, create), 0, rows)
    holds(f, 0 until 20001)
    assert(f.database.one("SELECT count(*) FROM t WHERE length(word) <> id % 977") == 0)
  }

  onSchema(
    "a decimal stored as text cannot order rows",
    new StructType().add("id", LongType).add("a", DecimalType(20, 2)),
    "CREATE TABLE t (id BIGINT PRIMARY KEY, a TEXT)") { f =>
    refused(Conditions.ModeUnsupported)(f.newRun(query, Map("keyColumns" -> "id", "orderColumn" -> "a")))
  }

  on("a NULL for the alias of the rowid is a bad row", "CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT)") { f =>
    val run = f.newRun(query)
    assert(refused(Conditions.BadRow)(write(f, run, 0, Seq(InternalRow(null, null)))).values("column") == "id")
  }

  on("VACUUM keeps the table's identity", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    f.database.execute("CREATE TABLE before_it (a)", "DROP TABLE before_it", "VACUUM")
    write(f, f.newRun(query), 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
  }

  on("the file is in WAL mode after a commit", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    assert(f.database.one("PRAGMA journal_mode") == "wal")
  }

  test("an in-memory database, and a missing directory, are refused") {
    def open(url: String): Unit = {
      val options =
        JdbcOptions.read(Map("url" -> url, "dbtable" -> "t", "createTable" -> "true")).fold(throw _, identity)
      sqlite.SqliteDialect.check(options).fold(throw _, identity)
    }
    Seq(
      "jdbc:sqlite::memory:",
      "jdbc:sqlite:",
      "jdbc:sqlite:file::memory:?cache=shared",
      "jdbc:sqlite:file:x?mode=memory").foreach(url => refused(Conditions.ModeUnsupported)(open(url)))
    assert(
      refused(Conditions.DatabaseUnreachable)(open("jdbc:sqlite:/no/such/place/x.db")).getMessage
        .contains("/no/such/place"))
    open("jdbc:sqlite:relative.db")
  }

  on("a refused query does not create a missing file") { f =>
    refused(Conditions.TableMissing)(f.newRun(query))
    assert(!java.nio.file.Files.exists(java.nio.file.Paths.get(f.database.url.stripPrefix("jdbc:sqlite:"))))
    f.database.execute("CREATE TABLE t (a)")
  }

  Seq("" -> false, " STRICT" -> true).foreach { case (strict, keeps) =>
    onSchema(
      s"a column of type ANY is ${if (keeps) "any" else "numeric, and takes no text,"} in a table that is${if (keeps) ""
        else " not"} STRICT",
      new StructType().add("a", StringType),
      s"CREATE TABLE t (a ANY)$strict") { f =>
      if (keeps) {
        write(f, f.newRun(query), 0, Seq("007", "1e3", "x").map(text => InternalRow(UTF8String.fromString(text))))
        assert(f.database.query("SELECT a FROM t ORDER BY rowid").map(_.head) == Seq("007", "1e3", "x"))
      } else refused(Conditions.ColumnTypeMismatch)(f.newRun(query))
    }
  }
}
