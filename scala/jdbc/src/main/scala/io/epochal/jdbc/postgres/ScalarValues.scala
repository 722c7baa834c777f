package io.epochal.jdbc.postgres

import org.apache.spark.sql.types._

import io.epochal.kit.sink.row.ChunkedBytes
import io.epochal.kit.spark.memory.{Memory, UnsafeLayout}

/** Reads any of Spark's integer types. */
trait ReadLong {
  def apply(base: AnyRef, slot: Long): Long
}

object ReadLong {
  def apply(dataType: DataType): ReadLong = dataType match {
    case ByteType    => (base: AnyRef, slot: Long) => Memory.getByte(base, slot).toLong
    case ShortType   => (base: AnyRef, slot: Long) => Memory.getShort(base, slot).toLong
    case IntegerType => (base: AnyRef, slot: Long) => Memory.getInt(base, slot).toLong
    case _           => (base: AnyRef, slot: Long) => Memory.getLong(base, slot)
  }
}

private[postgres] trait ReadFloat {
  def apply(base: AnyRef, slot: Long): Float
}

private[postgres] trait ReadDouble {
  def apply(base: AnyRef, slot: Long): Double
}

final private class BooleanValue(column: Int) extends CopyValue(column) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    out.reserve(5)
    out.putInt(1)
    out.putByte(if (Memory.getBoolean(base, slot)) 1 else 0)
  }
}

final private class Int2(column: Int, read: ReadLong) extends CopyValue(column) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    out.reserve(6)
    out.putInt(2)
    out.putShort(read(base, slot).toInt)
  }
}

final private class Int4(column: Int, read: ReadLong) extends CopyValue(column) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    out.reserve(8)
    out.putInt(4)
    out.putInt(read(base, slot).toInt)
  }
}

final private class Int8(column: Int, read: ReadLong) extends CopyValue(column) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    out.reserve(12)
    out.putInt(8)
    out.putLong(read(base, slot))
  }
}

final private class Float4(column: Int, read: ReadFloat) extends CopyValue(column) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    out.reserve(8)
    out.putInt(4)
    out.putInt(java.lang.Float.floatToIntBits(read(base, slot)))
  }
}

final private class Float8(column: Int, read: ReadDouble) extends CopyValue(column) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    out.reserve(12)
    out.putInt(8)
    out.putLong(java.lang.Double.doubleToLongBits(read(base, slot)))
  }
}

final private class ByteaValue(column: Int) extends CopyValue(column) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val length = UnsafeLayout.length(base, slot)
    if (length > CopyValue.MaxBytes) refuse("it is longer than 1 GB")
    out.reserve(4 + length)
    out.putInt(length)
    out.putBytes(base, UnsafeLayout.address(base, origin, slot), length)
  }
}

/** Days since 2000-01-01. The first and last values of that range mean infinity. */
final private class DateValue(column: Int) extends CopyValue(column) {
  import TimeValues._

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val days = Memory.getInt(base, slot).toLong - DaysTo2000
    if (days < FirstDay || days > LastDay)
      refuse("PostgreSQL has no such date (it ends in the years -4713 and 5874897)")
    out.reserve(8)
    out.putInt(4)
    out.putInt(days.toInt)
  }
}

/** Microseconds since 2000-01-01.
  *
  * @param fraction
  *   fractional second digits that the column keeps; the server would round the rest away
  */
final private class TimestampValue(column: Int, fraction: Int) extends CopyValue(column) {
  import TimeValues._

  private val unit = microsOf(fraction)

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val micros = Memory.getLong(base, slot)
    if (micros < FirstMicros) refuse("PostgreSQL has no timestamp before the year -4713")
    if (unit > 1 && micros % unit != 0) refuse(tooFine(fraction))
    out.reserve(12)
    out.putInt(8)
    out.putLong(micros - MicrosTo2000)
  }
}

/** Microseconds of the day. */
final private class TimeValue(column: Int, fraction: Int) extends CopyValue(column) {
  import TimeValues._

  private val unit = microsOf(fraction) * 1000

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val nanos = Memory.getLong(base, slot)
    if (nanos % unit != 0) refuse(tooFine(fraction))
    out.reserve(12)
    out.putInt(8)
    out.putLong(nanos / 1000)
  }
}

/** PostgreSQL's interval: int64 microseconds, int32 days, int32 months, independent of each other.
  *
  * @param fraction
  *   fractional second digits that the column keeps
  */
abstract private class IntervalValue(column: Int, fraction: Int) extends CopyValue(column) {
  import TimeValues._

  private val unit = microsOf(fraction)

  final protected def put(micros: Long, days: Int, months: Int, out: ChunkedBytes): Unit = {
    if (unit > 1 && micros % unit != 0) refuse(tooFine(fraction))
    out.reserve(20)
    out.putInt(16)
    out.putLong(micros)
    out.putInt(days)
    out.putInt(months)
  }
}

/** Stored as microseconds only: a day of Spark's always has 24 hours, one of PostgreSQL's need not. */
final private class DayTimeIntervalValue(column: Int, fraction: Int) extends IntervalValue(column, fraction) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit =
    put(Memory.getLong(base, slot), 0, 0, out)
}

final private class YearMonthIntervalValue(column: Int) extends IntervalValue(column, 6) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit =
    put(0L, 0, Memory.getInt(base, slot), out)
}

/** Since PostgreSQL 17, the maxima or minima of all three fields together mean infinity. */
final private class CalendarIntervalValue(column: Int, fraction: Int) extends IntervalValue(column, fraction) {
  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val at = UnsafeLayout.address(base, origin, slot)
    val months = UnsafeLayout.intervalMonths(base, at)
    val days = UnsafeLayout.intervalDays(base, at)
    val micros = UnsafeLayout.intervalMicros(base, at)
    if (months == Int.MaxValue && days == Int.MaxValue && micros == Long.MaxValue ||
      months == Int.MinValue && days == Int.MinValue && micros == Long.MinValue)
      refuse("PostgreSQL would take it for infinity")
    put(micros, days, months, out)
  }
}

private object TimeValues {
  val DaysTo2000 = 10957L
  val MicrosTo2000: Long = DaysTo2000 * 86400L * 1000000L
  val FirstDay = -2451545L
  val LastDay = 2145031948L
  val FirstMicros: Long = -211813488000000000L + MicrosTo2000

  /** The resolution of a column with that many fractional second digits, in microseconds. */
  def microsOf(fraction: Int): Long = math.pow(10, (6 - fraction).toDouble).toLong

  def tooFine(fraction: Int): String = s"it has more than the $fraction digits of a second that the column keeps"
}
