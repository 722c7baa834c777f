package io.epochal.jdbc.postgres

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.jdbc.database.{BoundColumn, BoundTable, Operation}
import io.epochal.jdbc.json.SparkTime
import io.epochal.jdbc.row.{CharacterSet, NulCharacter}
import io.epochal.kit.sink.row.{BadValue, ChunkedBytes, RowEncoder, RowFormat}
import io.epochal.kit.spark.memory.{BinaryRow, Memory, UnsafeLayout}

/** PostgreSQL's binary COPY format, version 1: a header, rows, a trailer. Tasks write only the rows.
  *
  * {{{
  *   header   "PGCOPY\n\377\r\n\0", int32 flags = 0, int32 length of the extension = 0
  *   row      int16 number of columns, then for each: int32 length of the value (-1: NULL), the value
  *   trailer  int16 -1
  * }}}
  *
  * If the table has an operation, a boolean follows the columns, for a change feed also the version and the unchanged columns. A
  * row that deletes contains only its key and order columns.
  */
final case class CopyFormat(table: BoundTable) extends RowFormat {

  override def encoder(out: ChunkedBytes): RowEncoder = {
    val cells = table.columns.map(new CopyCell(_, table.nulCharacter, table.table.characters.orNull)).toArray
    new CopyEncoder(cells, new Operation(table.operation, table.columns), out)
  }
}

object CopyFormat {
  val Header: Array[Byte] = "PGCOPY\n\u00ff\r\n\u0000".getBytes("ISO-8859-1") ++ new Array[Byte](8)
  val Trailer: Array[Byte] = Array[Byte](-1, -1)
}

/** A column of the query's rows with its encoder. */
final private class CopyCell(bound: BoundColumn, nul: NulCharacter, characters: CharacterSet) {
  val ordinal: Int = bound.ordinal
  val required: Boolean = bound.required
  val identifies: Boolean = bound.identifies
  val value: CopyValue =
    CopyValue(ordinal, bound.field.dataType, bound.column.columnType.asInstanceOf[PostgresType], nul, characters)
}

final private class CopyEncoder(cells: Array[CopyCell], operation: Operation, out: ChunkedBytes) extends RowEncoder {
  private val fields = cells.length + operation.width

  override def encode(row: BinaryRow): Unit = {
    val effect = operation.effect(row)
    out.reserve(2)
    out.putShort(fields)
    var i = 0
    while (i < cells.length) {
      val cell = cells(i)
      if (effect == Operation.Empties || effect == Operation.Deletes && !cell.identifies) putNull()
      else if (!row.isNullAt(cell.ordinal)) cell.value.encode(row.base, row.origin, row.slot(cell.ordinal), out)
      else if (cell.required && (cell.identifies || !operation.isPartial(row)))
        throw new BadValue(cell.ordinal, BadValue.Missing)
      else putNull()
      i += 1
    }
    if (operation.width > 0) CopyValue.begin(out, 1).putByte(if (effect == Operation.Stores) 0 else 1)
    if (operation.width > 1) {
      putText(operation.version(row))
      putText(operation.unchangedColumns(row))
    }
  }

  private def putText(text: UTF8String): Unit =
    if (text == null) putNull()
    else CopyValue.begin(out, text.numBytes).putBytes(text.getBaseObject, text.getBaseOffset, text.numBytes)

  private def putNull(): Unit = {
    out.reserve(4)
    out.putInt(-1)
  }
}

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

/** An encoder with state of its own.
  *
  * @param column
  *   index in the query's rows, for messages
  */
abstract private[postgres] class CheckedValue(column: Int) extends CopyValue {
  final protected def refuse(reason: String): Nothing = throw new BadValue(column, reason)
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
      case (ArrayType(element, _), array: PostgresType.Array) =>
        new ArrayValue(column, element, array, CopyValue(column, element, array.element, nul, characters))
      case (_, PostgresType.Enum(labels))     => new LabelValue(column, labels)
      case _ if PostgresType.parses(from, to) => new TextValue(column, Int.MaxValue, MaxBytes, nul, characters)
      case _                                  => plain(column, from, to, nul, characters)
    }

  private def plain(
      column: Int,
      from: DataType,
      to: PostgresType,
      nul: NulCharacter,
      characters: CharacterSet): CopyValue = from match {
    case BooleanType => (base, _, slot, out) => begin(out, 1).putByte(if (Memory.getBoolean(base, slot)) 1 else 0)
    case ByteType | ShortType | IntegerType | LongType => whole(column, ReadLong(from), to)
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

  private def whole(column: Int, read: ReadLong, to: PostgresType): CopyValue = to.name match {
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

/** Refuses fractions of a second that the server would round away.
  *
  * @param digits
  *   that the column keeps
  */
final private class Fraction(column: Int, digits: Int) {
  private val unit = math.pow(10, (6 - digits).toDouble).toLong

  def check(value: Long, perMicro: Long = 1L): Unit = {
    val finest = unit * perMicro
    if (finest > 1 && value % finest != 0)
      throw new BadValue(column, s"it has more than the $digits digits of a second that the column keeps")
  }
}

/** Reads any of Spark's integer types. */
private[postgres] trait ReadLong {
  def apply(base: AnyRef, slot: Long): Long
}

private[postgres] object ReadLong {
  def apply(dataType: DataType): ReadLong = dataType match {
    case ByteType    => (base, slot) => Memory.getByte(base, slot).toLong
    case ShortType   => (base, slot) => Memory.getShort(base, slot).toLong
    case IntegerType => (base, slot) => Memory.getInt(base, slot).toLong
    case _           => (base, slot) => Memory.getLong(base, slot)
  }
}

/** A PostgreSQL array of one dimension:
  *
  * {{{
  *   int32 dimensions (0 for an empty array, which ends after the type), int32 1 where elements are NULL, int32 the element type's oid,
  *   int32 number of elements, int32 index of the first (1), then each element as in a row
  * }}}
  */
final private class ArrayValue(column: Int, from: DataType, to: PostgresType.Array, element: CopyValue)
    extends CheckedValue(column) {

  private val width = UnsafeLayout.slotWidth(from)
  private val elements =
    new ChunkedBytes(1022L << 20, () => refuse("its elements have more than 1022 MB in all"))

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val array = UnsafeLayout.address(base, origin, slot)
    val size = UnsafeLayout.arraySize(base, array)
    if (size > MaxElements) refuse(s"it has more than $MaxElements elements")
    elements.clear()
    val hasNulls = encodeElements(base, array, size)
    out.reserve(24)
    out.putInt((if (size == 0) 12 else 20) + elements.size.toInt)
    out.putInt(if (size == 0) 0 else 1)
    out.putInt(if (hasNulls) 1 else 0)
    out.putInt(to.elementOid.toInt)
    if (size > 0) {
      out.putInt(size)
      out.putInt(1)
      elements.copyTo(out)
    }
  }

  private def encodeElements(base: AnyRef, array: Long, size: Int): Boolean = {
    val slots = UnsafeLayout.slotsOfArray(array, size)
    var hasNulls = false
    var i = 0
    try
      while (i < size) {
        if (!UnsafeLayout.isNullInArray(base, array, i)) element.encode(base, array, slots + i.toLong * width, elements)
        else if (to.elementRequired) refuse(BadValue.Missing)
        else {
          hasNulls = true
          elements.reserve(4)
          elements.putInt(-1)
        }
        i += 1
      }
    catch { case bad: BadValue => refuse(s"element ${i + 1}: ${bad.reason}") }
    hasNulls
  }

  /** `MaxArraySize`: PostgreSQL allocates 8 bytes per element. */
  private def MaxElements = CopyValue.MaxBytes / 8
}
