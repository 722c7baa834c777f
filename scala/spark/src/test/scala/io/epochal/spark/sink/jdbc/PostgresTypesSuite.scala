package io.epochal.spark.sink.jdbc

import java.math.{BigDecimal => JavaDecimal, BigInteger}
import java.sql.ResultSet
import java.time.{LocalDate, LocalDateTime, OffsetDateTime, ZoneOffset}

import scala.util.Using

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.rng.Seed
import org.scalacheck.{Arbitrary, Gen}

import io.epochal.core.error.Conditions

/** What was written reads back equal, with a real PostgreSQL as the judge of our binary encoding. */
final class PostgresTypesSuite extends SinkSuite(Postgres) {

  /** A column: Spark's type, PostgreSQL's, values, and how they read back. */
  private case class Kind(
      spark: DataType,
      postgres: String,
      values: Gen[Any],
      read: (ResultSet, Int) => Any,
      stored: Any => Any = identity)

  private def decimal(value: Any): JavaDecimal = value match {
    case d: Decimal => d.toJavaBigDecimal
    case other      => new JavaDecimal(other.toString)
  }

  private def decimals(precision: Int, scale: Int): Gen[Any] = for {
    digits <- Gen.choose(1, precision)
    text <- Gen.listOfN(digits, Gen.numChar).map(_.mkString)
    negative <- Arbitrary.arbitrary[Boolean]
    unscaled = new BigInteger(text)
    edge <- Gen.frequency(
      8 -> unscaled,
      1 -> BigInteger.ZERO,
      1 -> BigInteger.TEN.pow(precision).subtract(BigInteger.ONE))
  } yield Decimal(new JavaDecimal(if (negative) edge.negate else edge, scale), precision, scale)

  private val longs: Gen[Long] = Gen.oneOf(
    Gen.choose(Long.MinValue, Long.MaxValue),
    Gen.oneOf(Long.MinValue, Long.MaxValue, -1L, 0L, 9999L, 10000L, 1L << 32))
  private val ints: Gen[Int] =
    Gen.oneOf(Gen.choose(Int.MinValue, Int.MaxValue), Gen.oneOf(Int.MinValue, Int.MaxValue, 0))
  private val shorts: Gen[Short] = Gen.choose(Short.MinValue, Short.MaxValue)
  private val bytes: Gen[Byte] = Gen.choose(Byte.MinValue, Byte.MaxValue)
  private val doubles: Gen[Double] = Gen.oneOf(
    Arbitrary.arbitrary[Double],
    Gen.oneOf(
      Double.NaN,
      Double.PositiveInfinity,
      Double.NegativeInfinity,
      -0.0,
      Double.MinPositiveValue,
      Double.MaxValue))
  private val floats: Gen[Float] = Gen.oneOf(
    Arbitrary.arbitrary[Float],
    Gen.oneOf(Float.NaN, Float.PositiveInfinity, Float.NegativeInfinity, -0.0f, Float.MinPositiveValue))
  private val texts: Gen[UTF8String] = Gen
    .listOf(
      Gen.oneOf(Gen.choose(1, 127), Gen.choose(128, 0xd7ff), Gen.choose(0xe000, 0xffff), Gen.choose(0x10000, 0x10ffff)))
    .map(points => UTF8String.fromString(new String(points.toArray, 0, points.size)))
  private val days: Gen[Int] =
    Gen.choose(LocalDate.of(1, 1, 1).toEpochDay.toInt, LocalDate.of(9999, 12, 31).toEpochDay.toInt)
  private val micros: Gen[Long] = for {
    day <- days; within <- Gen.choose(0L, 86400L * 1000000 - 1)
  } yield day * 86400L * 1000000 + within

  private def time(value: Any): LocalDateTime = {
    val all = value.asInstanceOf[Long]
    LocalDateTime.ofEpochSecond(Math.floorDiv(all, 1000000L), Math.floorMod(all, 1000000L).toInt * 1000, ZoneOffset.UTC)
  }

  private val kinds = Seq(
    Kind(BooleanType, "boolean", Arbitrary.arbitrary[Boolean], _.getBoolean(_)),
    Kind(ByteType, "smallint", bytes, (r, i) => r.getShort(i).toByte),
    Kind(ShortType, "smallint", shorts, _.getShort(_)),
    Kind(ShortType, "real", shorts, (r, i) => r.getFloat(i).toInt.toShort),
    Kind(IntegerType, "integer", ints, _.getInt(_)),
    Kind(IntegerType, "bigint", ints, (r, i) => r.getLong(i).toInt),
    Kind(IntegerType, "double precision", ints, (r, i) => r.getDouble(i).toInt),
    Kind(LongType, "bigint", longs, _.getLong(_)),
    Kind(LongType, "numeric", longs, (r, i) => r.getBigDecimal(i).longValueExact),
    Kind(FloatType, "real", floats, (r, i) => r.getFloat(i).toString, _.toString),
    Kind(FloatType, "double precision", floats, (r, i) => r.getDouble(i).toFloat.toString, _.toString),
    Kind(DoubleType, "double precision", doubles, (r, i) => r.getDouble(i).toString, _.toString),
    Kind(DecimalType(10, 2), "numeric(10,2)", decimals(10, 2), _.getBigDecimal(_), decimal),
    Kind(DecimalType(18, 7), "numeric", decimals(18, 7), _.getBigDecimal(_), decimal),
    Kind(DecimalType(18, 0), "numeric(38,0)", decimals(18, 0), _.getBigDecimal(_), decimal),
    Kind(DecimalType(38, 0), "numeric", decimals(38, 0), _.getBigDecimal(_), decimal),
    Kind(DecimalType(38, 18), "numeric(38,18)", decimals(38, 18), _.getBigDecimal(_), decimal),
    Kind(DecimalType(38, 37), "numeric", decimals(38, 37), _.getBigDecimal(_), decimal),
    Kind(
      DecimalType(38, 38),
      "numeric(60,45)",
      decimals(38, 38),
      (r, i) => r.getBigDecimal(i).stripTrailingZeros,
      decimal(_).stripTrailingZeros),
    Kind(
      DecimalType(20, 5),
      "numeric(25,10)",
      decimals(20, 5),
      (r, i) => r.getBigDecimal(i).stripTrailingZeros,
      decimal(_).stripTrailingZeros),
    Kind(StringType, "text", texts, _.getString(_), _.toString),
    Kind(StringType, "varchar(200)", texts, _.getString(_), _.toString),
    Kind(
      BinaryType,
      "bytea",
      Arbitrary.arbitrary[Array[Byte]],
      (r, i) => r.getBytes(i).toSeq,
      _.asInstanceOf[Array[Byte]].toSeq),
    Kind(
      DateType,
      "date",
      days,
      (r, i) => r.getObject(i, classOf[LocalDate]),
      day => LocalDate.ofEpochDay(day.asInstanceOf[Int].toLong)),
    Kind(
      TimestampType,
      "timestamptz",
      micros,
      (r, i) => r.getObject(i, classOf[OffsetDateTime]).withOffsetSameInstant(ZoneOffset.UTC).toLocalDateTime,
      time),
    Kind(TimestampNTZType, "timestamp", micros, (r, i) => r.getObject(i, classOf[LocalDateTime]), time)
  )

  private val schema = StructType(
    StructField("id", LongType) +: kinds.indices.map(i => StructField(s"c$i", kinds(i).spark)))
  private val ddl = s"CREATE TABLE t (id BIGINT, ${kinds.indices.map(i => s"c$i ${kinds(i).postgres}").mkString(", ")})"

  onSchema("every type reads back as it was written", schema, ddl) { f =>
    val seed = Seed.random()
    info(s"seed ${seed.toBase64}")
    val row = Gen.sequence[Seq[Any], Any](kinds.map(kind => Gen.frequency[Any](9 -> kind.values, 1 -> Gen.const(null))))
    val rows = Gen.listOfN(2000, row).pureApply(Gen.Parameters.default.withSize(30), seed)
    write(f, f.newRun(query), 0, rows.zipWithIndex.map { case (values, i) => InternalRow.fromSeq(i.toLong +: values) })
    Using.resource(f.database.connect()) { connection =>
      val found = connection.createStatement().executeQuery("SELECT * FROM t ORDER BY id")
      rows.foreach { values =>
        assert(found.next())
        kinds.zip(values).zipWithIndex.foreach { case ((kind, value), i) =>
          if (value == null) assert(found.getObject(i + 2) == null, s"${kind.spark} NULL")
          else
            assert(kind.read(found, i + 2) == kind.stored(value), s"${kind.spark} into ${kind.postgres}: wrote $value")
        }
      }
      assert(!found.next())
    }
  }

  onSchema(
    "a table made for the query has homes for its types",
    StructType(kinds.map(_.spark).distinct.zipWithIndex.map { case (kind, i) =>
      StructField(s"c$i", kind)
    })) { f =>
    val options = Map("sinkId" -> "sink", "createTable" -> "true")
    write(f, f.newRun(query, options), 0, Seq(InternalRow.fromSeq(f.schema.map(_ => null))))
    write(f, f.newRun(query, options), 1, Seq(InternalRow.fromSeq(f.schema.map(_ => null))))
    assert(f.database.one("SELECT count(*) FROM t") == 2L)
  }

  /** Values at the edge of what fits, and beyond it. */
  private def edges(kind: DataType, postgres: String)(good: Any*)(bad: Any*): Unit =
    onSchema(
      s"$kind into $postgres: what does not fit is a bad row, and nothing is rounded",
      new StructType().add("id", LongType).add("a", kind),
      s"CREATE TABLE t (id BIGINT, a $postgres)") { f =>
      val run = f.newRun(query)
      write(f, run, 0, good.zipWithIndex.map { case (value, i) => InternalRow(i.toLong, value) })
      holds(f, good.indices)
      bad.foreach { value =>
        assert(refused(Conditions.BadRow)(write(f, run, 1, Seq(InternalRow(0L, value)))).values("column") == "a", value)
      }
    }

  private def d(text: String, precision: Int, scale: Int): Decimal = Decimal(new JavaDecimal(text), precision, scale)

  edges(DecimalType(10, 4), "numeric(6,2)")(d("9999.99", 10, 4), d("-9999.9900", 10, 4), d("0", 10, 4))(
    d("0.001", 10, 4),
    d("10000", 10, 4),
    d("-99999.99", 10, 4))
  edges(DecimalType(38, 10), "numeric(5,-2)")(d("1234500", 38, 10), d("0", 38, 10))(
    d("12345", 38, 10),
    d("123456700", 38, 10))
  edges(LongType, "numeric(5,2)")(999L, -999L, 0L)(1000L, -1000L, Long.MinValue, Long.MaxValue)
  edges(StringType, "varchar(3)")(UTF8String.fromString("äöü"), UTF8String.fromString("日本語"))(
    UTF8String.fromString("four"),
    UTF8String.fromString("abc "))
  edges(TimestampType, "timestamptz(3)")(1000L, -5000L)(1L, -1001L)
  edges(DateType, "date")(0, 2921939 * 30, -2440588)(Int.MaxValue, Int.MinValue, -2440589)
  edges(TimestampType, "timestamptz")(Long.MaxValue, -210866803200000000L)(Long.MinValue, -210866803200000001L)
}
