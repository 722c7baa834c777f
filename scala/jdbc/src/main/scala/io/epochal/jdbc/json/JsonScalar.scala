package io.epochal.jdbc.json

import java.math.{BigDecimal => JavaDecimal, BigInteger}
import java.time.format.{DateTimeFormatter, DateTimeFormatterBuilder}
import java.time.temporal.ChronoField.NANO_OF_SECOND
import java.time.temporal.ChronoUnit.MICROS
import java.time.{Duration, LocalTime, Period}
import java.util.Base64

import org.apache.spark.sql.types._

import io.epochal.jdbc.insert.IsoTime
import io.epochal.kit.spark.memory.{Memory, UnsafeLayout}

/** Scalars as JSON: numbers and literals bare, everything else in quotes. Their texts need no escapes. */
private object JsonScalar {

  def supports(dataType: DataType): Boolean = texts.isDefinedAt(dataType)

  def apply(dataType: DataType): JsonValue = {
    val text = texts(dataType)
    val isBare: String => Boolean = dataType match {
      case BooleanType | ByteType | ShortType | IntegerType | LongType | _: DecimalType => _ => true
      // JSON has no numbers for NaN and infinities.
      case FloatType | DoubleType => number => Character.isDigit(number.charAt(number.length - 1))
      case _                      => _ => false
    }
    (base, origin, slot, out) => {
      val value = text(base, origin, slot)
      JsonValue.ascii(if (isBare(value)) value else s"\"$value\"", out)
    }
  }

  /** As the name of an object's member. */
  def name(dataType: DataType): JsonValue = {
    val text = texts(dataType)
    (base, origin, slot, out) => JsonValue.ascii(s"\"${text(base, origin, slot)}\"", out)
  }

  private lazy val texts: PartialFunction[DataType, (AnyRef, Long, Long) => String] = {
    case BooleanType => (base, _, slot) => Memory.getBoolean(base, slot).toString
    case ByteType    => (base, _, slot) => Memory.getByte(base, slot).toString
    case ShortType   => (base, _, slot) => Memory.getShort(base, slot).toString
    case IntegerType => (base, _, slot) => Memory.getInt(base, slot).toString
    case LongType    => (base, _, slot) => Memory.getLong(base, slot).toString
    case FloatType   => (base, _, slot) => Memory.getFloat(base, slot).toString
    case DoubleType  => (base, _, slot) => Memory.getDouble(base, slot).toString
    case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS =>
      (base, _, slot) => JavaDecimal.valueOf(Memory.getLong(base, slot), d.scale).toPlainString
    case d: DecimalType =>
      (base, origin, slot) => new JavaDecimal(new BigInteger(bytes(base, origin, slot)), d.scale).toPlainString
    case BinaryType             => (base, origin, slot) => Base64.getEncoder.encodeToString(bytes(base, origin, slot))
    case DateType               => (base, _, slot) => IsoTime.date(Memory.getInt(base, slot))
    case TimestampType          => (base, _, slot) => IsoTime.timestamp(Memory.getLong(base, slot), "Z")
    case TimestampNTZType       => (base, _, slot) => IsoTime.timestamp(Memory.getLong(base, slot))
    case _: DayTimeIntervalType => (base, _, slot) => Duration.of(Memory.getLong(base, slot), MICROS).toString
    case _: YearMonthIntervalType =>
      (base, _, slot) => Period.ofMonths(Memory.getInt(base, slot)).normalized.toString
    case time if SparkTime.is(time) =>
      (base, _, slot) => Clock.format(LocalTime.ofNanoOfDay(Memory.getLong(base, slot)))
  }

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
