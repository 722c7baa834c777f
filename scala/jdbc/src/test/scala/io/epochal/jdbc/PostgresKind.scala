package io.epochal.jdbc

import java.math.{BigDecimal => JavaDecimal, BigInteger}
import java.sql.ResultSet
import java.time.{LocalDate, LocalDateTime, LocalTime, OffsetDateTime, ZoneOffset}

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.{Arbitrary, Gen}

/** A column: Spark's type, PostgreSQL's, values, and how they read back. */
final case class PostgresKind(
    spark: DataType,
    postgres: String,
    values: Gen[Any],
    read: (ResultSet, Int) => Any,
    stored: Any => Any = identity)

/** The scalar types with all kinds of values: extremes, NaN, all of Unicode except U+0000. */
object PostgresKind {

  private def decimal(value: Any): JavaDecimal = value match {
    case d: Decimal => d.toJavaBigDecimal
    case other      => new JavaDecimal(other.toString)
  }

  def decimals(precision: Int, scale: Int): Gen[Any] = for {
    digits <- Gen.choose(1, precision)
    text <- Gen.listOfN(digits, Gen.numChar).map(_.mkString)
    negative <- Arbitrary.arbitrary[Boolean]
    unscaled = new BigInteger(text)
    edge <- Gen.frequency(
      8 -> unscaled,
      1 -> BigInteger.ZERO,
      1 -> BigInteger.TEN.pow(precision).subtract(BigInteger.ONE))
  } yield Decimal(new JavaDecimal(if (negative) edge.negate else edge, scale), precision, scale)

  val longs: Gen[Long] = Gen.oneOf(
    Gen.choose(Long.MinValue, Long.MaxValue),
    Gen.oneOf(Long.MinValue, Long.MaxValue, -1L, 0L, 9999L, 10000L, 1L << 32))
  val ints: Gen[Int] =
    Gen.oneOf(Gen.choose(Int.MinValue, Int.MaxValue), Gen.oneOf(Int.MinValue, Int.MaxValue, 0))
  private val shorts: Gen[Short] = Gen.choose(Short.MinValue, Short.MaxValue)
  private val bytes: Gen[Byte] = Gen.choose(Byte.MinValue, Byte.MaxValue)
  val doubles: Gen[Double] = Gen.oneOf(
    Arbitrary.arbitrary[Double],
    Gen.oneOf(
      Double.NaN,
      Double.PositiveInfinity,
      Double.NegativeInfinity,
      -0.0,
      Double.MinPositiveValue,
      Double.MaxValue))
  val floats: Gen[Float] = Gen.oneOf(
    Arbitrary.arbitrary[Float],
    Gen.oneOf(Float.NaN, Float.PositiveInfinity, Float.NegativeInfinity, -0.0f, Float.MinPositiveValue))
  val texts: Gen[UTF8String] = Gen
    .listOf(
      Gen.oneOf(Gen.choose(1, 127), Gen.choose(128, 0xd7ff), Gen.choose(0xe000, 0xffff), Gen.choose(0x10000, 0x10ffff)))
    .map(points => UTF8String.fromString(new String(points.toArray, 0, points.size)))
  val days: Gen[Int] =
    Gen.choose(LocalDate.of(1, 1, 1).toEpochDay.toInt, LocalDate.of(9999, 12, 31).toEpochDay.toInt)
  val micros: Gen[Long] = for {
    day <- days; within <- Gen.choose(0L, 86400L * 1000000 - 1)
  } yield day * 86400L * 1000000 + within

  private def time(value: Any): LocalDateTime = {
    val all = value.asInstanceOf[Long]
    LocalDateTime.ofEpochSecond(Math.floorDiv(all, 1000000L), Math.floorMod(all, 1000000L).toInt * 1000, ZoneOffset.UTC)
  }

  val scalars: Seq[PostgresKind] = Seq(
    PostgresKind(BooleanType, "boolean", Arbitrary.arbitrary[Boolean], _.getBoolean(_)),
    PostgresKind(ByteType, "smallint", bytes, (r, i) => r.getShort(i).toByte),
    PostgresKind(ShortType, "smallint", shorts, _.getShort(_)),
    PostgresKind(ShortType, "real", shorts, (r, i) => r.getFloat(i).toInt.toShort),
    PostgresKind(IntegerType, "integer", ints, _.getInt(_)),
    PostgresKind(IntegerType, "bigint", ints, (r, i) => r.getLong(i).toInt),
    PostgresKind(IntegerType, "double precision", ints, (r, i) => r.getDouble(i).toInt),
    PostgresKind(LongType, "bigint", longs, _.getLong(_)),
    PostgresKind(LongType, "numeric", longs, (r, i) => r.getBigDecimal(i).longValueExact),
    PostgresKind(FloatType, "real", floats, (r, i) => r.getFloat(i).toString, _.toString),
    PostgresKind(FloatType, "double precision", floats, (r, i) => r.getDouble(i).toFloat.toString, _.toString),
    PostgresKind(DoubleType, "double precision", doubles, (r, i) => r.getDouble(i).toString, _.toString),
    PostgresKind(DecimalType(10, 2), "numeric(10,2)", decimals(10, 2), _.getBigDecimal(_), decimal),
    PostgresKind(DecimalType(18, 7), "numeric", decimals(18, 7), _.getBigDecimal(_), decimal),
    PostgresKind(DecimalType(18, 0), "numeric(38,0)", decimals(18, 0), _.getBigDecimal(_), decimal),
    PostgresKind(DecimalType(38, 0), "numeric", decimals(38, 0), _.getBigDecimal(_), decimal),
    PostgresKind(DecimalType(38, 18), "numeric(38,18)", decimals(38, 18), _.getBigDecimal(_), decimal),
    PostgresKind(DecimalType(38, 37), "numeric", decimals(38, 37), _.getBigDecimal(_), decimal),
    PostgresKind(
      DecimalType(38, 38),
      "numeric(60,45)",
      decimals(38, 38),
      (r, i) => r.getBigDecimal(i).stripTrailingZeros,
      decimal(_).stripTrailingZeros),
    PostgresKind(
      DecimalType(20, 5),
      "numeric(25,10)",
      decimals(20, 5),
      (r, i) => r.getBigDecimal(i).stripTrailingZeros,
      decimal(_).stripTrailingZeros),
    PostgresKind(StringType, "text", texts, _.getString(_), _.toString),
    PostgresKind(StringType, "varchar(200)", texts, _.getString(_), _.toString),
    PostgresKind(
      BinaryType,
      "bytea",
      Arbitrary.arbitrary[Array[Byte]],
      (r, i) => r.getBytes(i).toSeq,
      _.asInstanceOf[Array[Byte]].toSeq),
    PostgresKind(
      DateType,
      "date",
      days,
      (r, i) => r.getObject(i, classOf[LocalDate]),
      day => LocalDate.ofEpochDay(day.asInstanceOf[Int].toLong)),
    PostgresKind(
      TimestampType,
      "timestamptz",
      micros,
      (r, i) => r.getObject(i, classOf[OffsetDateTime]).withOffsetSameInstant(ZoneOffset.UTC).toLocalDateTime,
      time),
    PostgresKind(TimestampNTZType, "timestamp", micros, (r, i) => r.getObject(i, classOf[LocalDateTime]), time),
    PostgresKind(
      TimeType(6),
      "time",
      Gen.choose(0L, 86399999999L).map(_ * 1000),
      (r, i) => r.getObject(i, classOf[LocalTime]),
      nanos => LocalTime.ofNanoOfDay(nanos.asInstanceOf[Long])),
    PostgresKind(StringType, "name", texts.map(t => t.substring(0, 15)), _.getString(_), _.toString)
  )
}
