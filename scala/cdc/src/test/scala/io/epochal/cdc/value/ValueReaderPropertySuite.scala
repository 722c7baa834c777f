package io.epochal.cdc.value

import java.math.{BigDecimal => JavaDecimal, BigInteger}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.time.temporal.ChronoUnit
import java.time.{LocalDate, LocalDateTime}
import java.util.{Locale, UUID}

import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.postgresql.util.ByteConverter
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.kit.database.{PostgresColumn, PostgresType}

/** Readers against Java's own types, and against the encoder of PostgreSQL's driver. No server. */
final class ValueReaderPropertySuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 500)

  private def reader(name: String, to: DataType, shape: PostgresType.Shape = PostgresType.Plain): ValueReader =
    ValueReader.of("t", PostgresColumn("c", -1, PostgresType(name, -1, name, shape)), to)

  /** Reads bytes in the middle of others. */
  private def binary(of: ValueReader, value: Array[Byte]): Any =
    of.binary(Array[Byte](1, 2, 3) ++ value ++ Array[Byte](4), 3, value.length)

  private def text(of: ValueReader, value: String): Any = {
    val bytes = value.getBytes(UTF_8)
    of.text(Array[Byte]('9', '9') ++ bytes ++ Array[Byte]('9', '9'), 2, bytes.length)
  }

  private def refused(body: => Any): String = intercept[UnreadableValue](body).reason

  private def bytes(size: Int)(put: ByteBuffer => Any): Array[Byte] = {
    val buffer = ByteBuffer.allocate(size)
    put(buffer)
    buffer.array
  }

  test("whole numbers") {
    forAll { (long: Long) =>
      Seq[(ValueReader, Array[Byte], Any)](
        (reader("int8", LongType), bytes(8)(_.putLong(long)), long),
        (reader("int4", IntegerType), bytes(4)(_.putInt(long.toInt)), long.toInt),
        (reader("int2", ShortType), bytes(2)(_.putShort(long.toShort)), long.toShort)).foreach {
        case (of, sent, value) =>
          assert(binary(of, sent) == value && text(of, value.toString) == value)
      }
      val unsigned = UTF8String.fromString(Integer.toUnsignedString(long.toInt))
      assert(binary(reader("oid", StringType), bytes(4)(_.putInt(long.toInt))) == unsigned)
    }
    Seq(Long.MinValue, Long.MaxValue).foreach(n => assert(text(reader("int8", LongType), n.toString) == n))
  }

  /** NaN is equal to itself, and zeros have signs. */
  private def sameBits(a: Any, b: Any): Boolean = java.util.Objects.equals(a, b)

  test("floating point numbers keep their bits") {
    forAll { (bits: Long) =>
      val double = java.lang.Double.longBitsToDouble(bits)
      val float = java.lang.Float.intBitsToFloat(bits.toInt)
      val doubles = reader("float8", DoubleType)
      val floats = reader("float4", FloatType)
      assert(
        Seq(binary(doubles, bytes(8)(_.putDouble(double))), text(doubles, double.toString)).forall(sameBits(_, double)))
      assert(Seq(binary(floats, bytes(4)(_.putFloat(float))), text(floats, float.toString)).forall(sameBits(_, float)))
    }
  }

  test("UUIDs and bytes") {
    forAll { (high: Long, low: Long, value: Array[Byte]) =>
      val uuid = UTF8String.fromString(new UUID(high, low).toString)
      assert(binary(reader("uuid", StringType), bytes(16)(_.putLong(high).putLong(low))) == uuid)
      val of = reader("bytea", BinaryType)
      val printed = "\\x" + java.util.HexFormat.of.formatHex(value)
      assert(Seq(binary(of, value), text(of, printed)).forall(_.asInstanceOf[Array[Byte]].sameElements(value)))
    }
  }

  private val numbers: Gen[JavaDecimal] = for {
    size <- Gen.choose(1, 60)
    digits <- Gen.listOfN(size, Gen.frequency(3 -> Gen.numChar, 1 -> Gen.const('0'))).map(_.mkString)
    scale <- Gen.choose(0, 40)
    sign <- Gen.oneOf("", "-")
  } yield new JavaDecimal(new BigInteger(sign + digits), scale)

  test("numerics keep their value and digits as STRING") {
    val of = reader("numeric", StringType)
    forAll(numbers) { number =>
      val printed = UTF8String.fromString(number.toPlainString)
      assert(binary(of, ByteConverter.numeric(number)) == printed)
      assert(text(of, number.toPlainString) == printed)
    }
  }

  test("numerics that fit a DECIMAL are equal, others are refused") {
    forAll(numbers, Gen.choose(1, 38), Gen.choose(0, 38)) { (number, precision, someScale) =>
      val to = DecimalType(precision, math.min(someScale, precision))
      val of = reader("numeric", to)
      val stripped = number.stripTrailingZeros
      val isExact = number.signum == 0 || stripped.scale <= to.scale
      val isSmall = number.signum == 0 || number.precision.toLong - number.scale <= precision - to.scale
      Seq(() => binary(of, ByteConverter.numeric(number)), () => text(of, number.toPlainString)).foreach { read =>
        if (isExact && isSmall) {
          val found = read().asInstanceOf[Decimal]
          assert(found.toJavaBigDecimal == number.setScale(to.scale))
          assert(found.precision == precision && found.scale == to.scale)
        } else assert(refused(read()).startsWith("it has more digits "))
      }
    }
  }

  private val moments: Gen[LocalDateTime] = for {
    first <- Gen.choose(LocalDate.of(-4712, 1, 1).toEpochDay, LocalDate.of(294246, 12, 31).toEpochDay)
    near <- Gen.choose(-800000L, 800000L)
    day <- Gen.oneOf(first, near)
    nano <- Gen.oneOf(Gen.choose(0L, 86399999999L).map(_ * 1000), Gen.choose(0L, 86399L).map(_ * 1000000000))
  } yield LocalDateTime.of(LocalDate.ofEpochDay(day), java.time.LocalTime.ofNanoOfDay(nano))

  private val epoch = LocalDateTime.of(1970, 1, 1, 0, 0)

  test("dates and timestamps of all years are those of java.time") {
    val dates = reader("date", DateType)
    val times = reader("timestamp", TimestampNTZType)
    val zoned = reader("timestamptz", TimestampType)
    val millennium = LocalDateTime.of(2000, 1, 1, 0, 0)
    forAll(moments) { moment =>
      val era = if (moment.getYear > 0) "" else " BC"
      val year = if (moment.getYear > 0) moment.getYear else 1 - moment.getYear
      val day = "%04d-%02d-%02d".formatLocal(Locale.ROOT, year, moment.getMonthValue, moment.getDayOfMonth)
      val fraction = "%06d".formatLocal(Locale.ROOT, moment.getNano / 1000).replaceFirst("0+$", "")
      val time = "%02d:%02d:%02d".formatLocal(Locale.ROOT, moment.getHour, moment.getMinute, moment.getSecond) +
        (if (fraction.isEmpty) "" else s".$fraction")
      val days = moment.toLocalDate.toEpochDay.toInt
      assert(text(dates, day + era) == days)
      assert(
        binary(
          dates,
          bytes(4)(_.putInt(millennium.until(moment.toLocalDate.atStartOfDay, ChronoUnit.DAYS).toInt))) == days)
      val micros = epoch.until(moment, ChronoUnit.MICROS)
      assert(text(times, s"$day $time$era") == micros)
      assert(text(zoned, s"$day $time+00$era") == micros)
      assert(binary(times, bytes(8)(_.putLong(millennium.until(moment, ChronoUnit.MICROS)))) == micros)
    }
  }

  test("texts under other settings than the reader's are not read") {
    val wrong = Seq(
      (reader("timestamptz", TimestampType), "2026-01-31 12:00:00+05:30"),
      (reader("timestamptz", TimestampType), "2026-01-31 12:00:00-08"),
      (reader("date", DateType), "01/31/2026"),
      (reader("bytea", BinaryType), "abc\\000"))
    wrong.foreach { case (of, value) => intercept[IllegalStateException](text(of, value)) }
  }

  private val words: Gen[String] = Gen
    .listOf(Gen.frequency(3 -> Gen.oneOf("\"\\{}(),; \tNULLab".toSeq), 1 -> Gen.oneOf('ä', '€', '\n', '\u0001')))
    .map(_.mkString)

  /** As `array_out` and `record_out` print an item. */
  private def item(value: String, special: String, double: Boolean): String =
    if (value.nonEmpty && !value.equalsIgnoreCase("NULL") && !value
        .exists(c => special.indexOf(c.toInt) >= 0 || c.isWhitespace))
      value
    else "\"" + value.replace("\\", "\\\\").replace("\"", if (double) "\"\"" else "\\\"") + "\""

  test("arrays keep NULLs, empty texts and all characters, without their lower bounds") {
    val of = reader("_text", ArrayType(StringType), PostgresType.Elements(PostgresType("text", -1, "text"), ','))
    forAll(Gen.listOf(Gen.option(words)), Gen.oneOf("", "[0:1]=", "[-7:-5]=")) { (values, bounds) =>
      val expected = values.map(_.map(UTF8String.fromString).orNull)
      val printed = values.map(_.fold("NULL")(item(_, "\"\\{},", double = false))).mkString(s"$bounds{", ",", "}")
      assert(text(of, printed).asInstanceOf[ArrayData].toSeq[Any](StringType) == expected, printed)
      val sent = values.map(_.map(_.getBytes(UTF_8)))
      val array = bytes(20 + sent.map(4 + _.fold(0)(_.length)).sum) { buffer =>
        buffer.putInt(if (values.isEmpty) 0 else 1).putInt(0).putInt(25)
        if (values.nonEmpty) buffer.putInt(values.size).putInt(-3)
        sent.foreach(_.fold(buffer.putInt(-1))(value => buffer.putInt(value.length).put(value)))
      }
      assert(binary(of, array).asInstanceOf[ArrayData].toSeq[Any](StringType) == expected)
    }
  }

  test("composite values keep NULLs, empty texts and all characters as JSON") {
    val mapper = new com.fasterxml.jackson.databind.ObjectMapper
    forAll(Gen.nonEmptyListOf(Gen.option(words))) { values =>
      val word = PostgresType("text", -1, "text")
      val of = reader("pair", StringType, PostgresType.Fields(values.indices.map(i => s"a\"$i" -> word)))
      val printed =
        values.map(_.fold("")(v => if (v.equalsIgnoreCase("NULL")) v else item(v, "\"\\(),", double = true)))
      val json = mapper.readTree(text(of, printed.mkString("(", ",", ")")).toString)
      assert(values.indices.map(i => Option(json.get(s"a\"$i").textValue)) == values)
    }
  }
}
