package io.epochal.jdbc.postgres

import org.apache.spark.sql.types._

import io.epochal.jdbc.json.SparkTime
import io.epochal.jdbc.row.{CharacterSet, NulCharacter}
import io.epochal.kit.database.PostgresType
import io.epochal.kit.sink.row.{BadValue, ChunkedBytes}
import io.epochal.kit.spark.memory.{Memory, UnsafeLayout}

/** Encodes values of one type in the binary form of a PostgreSQL type, preceded by the length.
  *
  * Refuses, where the row is known, values that the server would reject, failing the whole epoch, or would change. One
  * instance per task.
  */
private[postgres] trait CopyValue {

  /** Encodes a value, which must not be NULL. Addresses are those of `UnsafeLayout`.
    *
    * @throws BadValue
    *   the column cannot store it
    */
  def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit
}

private[postgres] object CopyValue {

  /** PostgreSQL's limit for one value, less its header. */
  val MaxBytes: Int = 0x3fffffff - 8

  /** Puts the length of a value, and makes room for its bytes. */
  def begin(out: ChunkedBytes, length: Int): ChunkedBytes = {
    out.reserve(4 + length)
    out.putInt(length)
    out
  }

  /** @param characters
    *   null: all of Unicode
    */
  def apply(column: Int, from: DataType, to: PostgresType, nul: NulCharacter, characters: CharacterSet): CopyValue =
    (from, to.shape) match {
      case (ArrayType(element, _), PostgresType.Elements(of, _)) =>
        new ArrayValue(column, element, of, CopyValue(column, element, of, nul, characters))
      case (_, PostgresType.Enum(labels))          => new LabelValue(column, labels)
      case _ if PostgresTypeRules.parses(from, to) => new TextValue(column, Int.MaxValue, MaxBytes, nul, characters)
      case _                                       => plain(column, from, to, nul, characters)
    }

  private def plain(
      column: Int,
      from: DataType,
      to: PostgresType,
      nul: NulCharacter,
      characters: CharacterSet): CopyValue = from match {
    case BooleanType => (base, _, slot, out) => begin(out, 1).putByte(if (Memory.getBoolean(base, slot)) 1 else 0)
    case ByteType | ShortType | IntegerType | LongType => whole(column, LongSlot(from), to)
    case FloatType if to.name == "float4" => (base, _, slot, out) => float4(Memory.getFloat(base, slot), out)
    case FloatType                        => (base, _, slot, out) => float8(Memory.getFloat(base, slot).toDouble, out)
    case DoubleType                       => (base, _, slot, out) => float8(Memory.getDouble(base, slot), out)
    case d: DecimalType                   => NumericValue(column, d, to)
    case BinaryType                       => bytea(column)
    case DateType                         => date(column)
    case TimestampType | TimestampNTZType => timestamp(column, new Fraction(column, to.fraction))
    case CalendarIntervalType             => calendarInterval(column, new Fraction(column, to.intervalFraction))
    case _: DayTimeIntervalType           => dayTimeInterval(new Fraction(column, to.intervalFraction))
    case _: YearMonthIntervalType         => (base, _, slot, out) => interval(0L, 0, Memory.getInt(base, slot), out)
    case _: StringType | _: CharType | _: VarcharType => text(column, to, nul, characters)
    case time if SparkTime.is(time)                   => this.time(new Fraction(column, to.fraction))
    case nested => new JsonTree(column, nested, to.name == "jsonb", nul, characters)
  }

  private def whole(column: Int, read: LongSlot, to: PostgresType): CopyValue = to.name match {
    case "int2"   => (base, _, slot, out) => begin(out, 2).putShort(read(base, slot).toInt)
    case "int4"   => (base, _, slot, out) => begin(out, 4).putInt(read(base, slot).toInt)
    case "int8"   => (base, _, slot, out) => begin(out, 8).putLong(read(base, slot))
    case "float4" => (base, _, slot, out) => float4(read(base, slot).toFloat, out)
    case "float8" => (base, _, slot, out) => float8(read(base, slot).toDouble, out)
    case _        => NumericValue.whole(column, read, to)
  }

  private def float4(value: Float, out: ChunkedBytes): Unit =
    begin(out, 4).putInt(java.lang.Float.floatToIntBits(value))

  private def float8(value: Double, out: ChunkedBytes): Unit =
    begin(out, 8).putLong(java.lang.Double.doubleToLongBits(value))

  private def text(column: Int, to: PostgresType, nul: NulCharacter, characters: CharacterSet): CopyValue =
    to.name match {
      case "uuid"    => new UuidValue(column)
      case "inet"    => new InetValue(column, isNetwork = false)
      case "cidr"    => new InetValue(column, isNetwork = true)
      case "numeric" => new NumericText(column, to)
      case "json"    => new JsonText(column, isBinary = false, nul, characters)
      case "jsonb"   => new JsonText(column, isBinary = true, nul, characters)
      case "name"    => new TextValue(column, Int.MaxValue, MaxNameBytes, nul, characters)
      case _ if characters != null && characters.verbatim =>
        new TextValue(column, Int.MaxValue, to.length.getOrElse(MaxBytes), nul, characters)
      case _ => new TextValue(column, to.length.getOrElse(Int.MaxValue), MaxBytes, nul, characters)
    }

  private val MaxNameBytes = 63

  private def bytea(column: Int): CopyValue = (base, origin, slot, out) => {
    val length = UnsafeLayout.length(base, slot)
    if (length > MaxBytes) throw new BadValue(column, "it is longer than 1 GB")
    begin(out, length).putBytes(base, UnsafeLayout.address(base, origin, slot), length)
  }

  private val DaysTo2000 = 10957L
  private val MicrosTo2000 = DaysTo2000 * 86400L * 1000000L
  private val FirstDay = -2451545L
  private val LastDay = 2145031948L
  private val FirstMicros = -211813488000000000L + MicrosTo2000

  /** Days since 2000-01-01. The first and last values of that range mean infinity. */
  private def date(column: Int): CopyValue = (base, _, slot, out) => {
    val days = Memory.getInt(base, slot).toLong - DaysTo2000
    if (days < FirstDay || days > LastDay)
      throw new BadValue(column, "PostgreSQL has no such date (it ends in the years -4713 and 5874897)")
    begin(out, 4).putInt(days.toInt)
  }

  /** Microseconds since 2000-01-01. */
  private def timestamp(column: Int, fraction: Fraction): CopyValue = (base, _, slot, out) => {
    val micros = Memory.getLong(base, slot)
    if (micros < FirstMicros) throw new BadValue(column, "PostgreSQL has no timestamp before the year -4713")
    fraction.check(micros)
    begin(out, 8).putLong(micros - MicrosTo2000)
  }

  /** Microseconds of the day. */
  private def time(fraction: Fraction): CopyValue = (base, _, slot, out) => {
    val nanos = Memory.getLong(base, slot)
    fraction.check(nanos, perMicro = 1000L)
    begin(out, 8).putLong(nanos / 1000)
  }

  /** Stored as microseconds only: a day of Spark's always has 24 hours, one of PostgreSQL's need not. */
  private def dayTimeInterval(fraction: Fraction): CopyValue = (base, _, slot, out) => {
    val micros = Memory.getLong(base, slot)
    fraction.check(micros)
    interval(micros, 0, 0, out)
  }

  /** Since PostgreSQL 17, the maxima or minima of all three fields together mean infinity. */
  private def calendarInterval(column: Int, fraction: Fraction): CopyValue = (base, origin, slot, out) => {
    val at = UnsafeLayout.address(base, origin, slot)
    val months = UnsafeLayout.intervalMonths(base, at)
    val days = UnsafeLayout.intervalDays(base, at)
    val micros = UnsafeLayout.intervalMicros(base, at)
    if (months == Int.MaxValue && days == Int.MaxValue && micros == Long.MaxValue ||
      months == Int.MinValue && days == Int.MinValue && micros == Long.MinValue)
      throw new BadValue(column, "PostgreSQL would take it for infinity")
    fraction.check(micros)
    interval(micros, days, months, out)
  }

  /** PostgreSQL's interval: int64 microseconds, int32 days, int32 months, independent of each other. */
  private def interval(micros: Long, days: Int, months: Int, out: ChunkedBytes): Unit = {
    begin(out, 16).putLong(micros)
    out.putInt(days)
    out.putInt(months)
  }
}
