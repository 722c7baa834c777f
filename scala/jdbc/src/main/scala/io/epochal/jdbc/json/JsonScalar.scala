package io.epochal.jdbc.json

import java.math.{BigDecimal => JavaDecimal, BigInteger}
import java.time.format.{DateTimeFormatter, DateTimeFormatterBuilder}
import java.time.temporal.ChronoField.NANO_OF_SECOND
import java.time.temporal.ChronoUnit.MICROS
import java.time.{Duration, LocalTime, Period}
import java.util.Base64

import org.apache.spark.sql.types._

import io.epochal.jdbc.insert.IsoTime
import io.epochal.kit.sink.row.ChunkedBytes
import io.epochal.kit.spark.memory.{Memory, UnsafeLayout}

/** A scalar as JSON: numbers and literals bare, everything else in quotes. Its text needs no escapes. */
final private class JsonScalar(text: JsonScalar.Text, isBare: String => Boolean) extends JsonValue {

  override def write(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val value = text(base, origin, slot)
    JsonValue.ascii(if (isBare(value)) value else s"\"$value\"", out)
  }

  override def writeName(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit =
    JsonValue.ascii(s"\"${text(base, origin, slot)}\"", out)
}

private object JsonScalar {

  def supports(dataType: DataType): Boolean = dataType match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType     => true
    case _: DecimalType | _: StringType | _: CharType | _: VarcharType | BinaryType | VariantType => true
    case DateType | TimestampType | TimestampNTZType                                              => true
    case _: DayTimeIntervalType | _: YearMonthIntervalType                                        => true
    case other                                                                                    => SparkTime.is(other)
  }

  def apply(dataType: DataType): JsonValue = dataType match {
    case BooleanType => bare((base, _, slot) => Memory.getBoolean(base, slot).toString)
    case ByteType    => bare((base, _, slot) => Memory.getByte(base, slot).toString)
    case ShortType   => bare((base, _, slot) => Memory.getShort(base, slot).toString)
    case IntegerType => bare((base, _, slot) => Memory.getInt(base, slot).toString)
    case LongType    => bare((base, _, slot) => Memory.getLong(base, slot).toString)
    case FloatType   => real((base, _, slot) => Memory.getFloat(base, slot).toString)
    case DoubleType  => real((base, _, slot) => Memory.getDouble(base, slot).toString)
    case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS =>
      bare((base, _, slot) => JavaDecimal.valueOf(Memory.getLong(base, slot), d.scale).toPlainString)
    case d: DecimalType =>
      bare((base, origin, slot) => new JavaDecimal(new BigInteger(bytes(base, origin, slot)), d.scale).toPlainString)
    case BinaryType =>
      inQuotes((base, origin, slot) => Base64.getEncoder.encodeToString(bytes(base, origin, slot)))
    case DateType      => inQuotes((base, _, slot) => IsoTime.date(Memory.getInt(base, slot)))
    case TimestampType => inQuotes((base, _, slot) => IsoTime.timestamp(Memory.getLong(base, slot), "Z"))
    case TimestampNTZType => inQuotes((base, _, slot) => IsoTime.timestamp(Memory.getLong(base, slot)))
    case _: DayTimeIntervalType =>
      inQuotes((base, _, slot) => Duration.of(Memory.getLong(base, slot), MICROS).toString)
    case _: YearMonthIntervalType =>
      inQuotes { (base, _, slot) =>
        val months = Memory.getInt(base, slot)
        Period.of(months / 12, months % 12, 0).toString
      }
    case _ => inQuotes((base, _, slot) => Clock.format(LocalTime.ofNanoOfDay(Memory.getLong(base, slot))))
  }

  type Text = (AnyRef, Long, Long) => String

  private def bare(text: Text): JsonValue = new JsonScalar(text, _ => true)
  private def inQuotes(text: Text): JsonValue = new JsonScalar(text, _ => false)

  /** JSON has no numbers for NaN and infinities, so these are quoted. */
  private def real(text: Text): JsonValue =
    new JsonScalar(text, number => Character.isDigit(number.charAt(number.length - 1)))

  private def bytes(base: AnyRef, origin: Long, slot: Long): Array[Byte] = {
    val length = UnsafeLayout.length(base, slot)
    val bytes = new Array[Byte](length)
    Memory.copy(base, UnsafeLayout.address(base, origin, slot), bytes, Memory.ARRAY_START, length.toLong)
    bytes
  }

  /** Six fractional digits, or nine if there are nanoseconds. */
  private val Clock: DateTimeFormatter = new DateTimeFormatterBuilder()
    .appendPattern("HH:mm:ss")
    .appendFraction(NANO_OF_SECOND, 6, 9, true)
    .toFormatter(java.util.Locale.ROOT)
}

/** Spark's TIME(p), in nanoseconds of the day. Matched by name, since Spark 4.0 does not have the type. */
private[jdbc] object SparkTime {
  private val Name = """time\((\d)\)""".r

  def is(dataType: DataType): Boolean = precision(dataType).isDefined

  /** Fractional second digits that the type keeps. */
  def precision(dataType: DataType): Option[Int] = dataType.typeName match {
    case Name(digits) => Some(digits.toInt)
    case _            => None
  }
}
