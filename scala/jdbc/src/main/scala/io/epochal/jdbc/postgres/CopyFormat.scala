package io.epochal.jdbc.postgres

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.{BoundColumn, Operation}
import io.epochal.jdbc.json.SparkTime
import io.epochal.jdbc.row.NulCharacter
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
  * @param operation
  *   index of the operation column in the query's rows. If set, a boolean follows the columns, and a row that deletes contains only
  *   its key and order columns
  */
final case class CopyFormat(columns: Seq[BoundColumn], operation: Option[Int], nul: NulCharacter) extends RowFormat {

  override def encoder(out: ChunkedBytes): RowEncoder = {
    val cells = columns.map { bound =>
      val to = bound.column.columnType.asInstanceOf[PostgresType]
      new CopyCell(bound.ordinal, bound.required, CopyValue(bound.ordinal, bound.field.dataType, to, nul))
    }
    val row = new CopyRow(cells.toArray, out)
    operation match {
      case None          => new CopyRowEncoder(row)
      case Some(ordinal) => new CopyChangeEncoder(row, columns.map(_.identifies).toArray, ordinal)
    }
  }
}

object CopyFormat {
  val Header: Array[Byte] = "PGCOPY\n\u00ff\r\n\u0000".getBytes("ISO-8859-1") ++ new Array[Byte](8)
  val Trailer: Array[Byte] = Array[Byte](-1, -1)
}

/** A column of the query's rows with its encoder. */
final private class CopyCell(val ordinal: Int, val required: Boolean, val value: CopyValue)

/** Writes the parts of a row. */
final private class CopyRow(cells: Array[CopyCell], out: ChunkedBytes) {
  val columns: Int = cells.length

  /** @param fields
    *   number of values that follow
    */
  def begin(fields: Int): Unit = {
    out.reserve(2)
    out.putShort(fields)
  }

  def put(row: BinaryRow, column: Int): Unit = {
    val cell = cells(column)
    if (!row.isNullAt(cell.ordinal)) {
      val origin = row.origin
      val slot = row.slot(cell.ordinal)
      cell.value.encode(row.base, origin, slot, out)
    } else if (cell.required) throw new BadValue(cell.ordinal, BadValue.Missing)
    else putNull()
  }

  def putNull(): Unit = {
    out.reserve(4)
    out.putInt(-1)
  }

  def putBoolean(value: Boolean): Unit = {
    out.reserve(5)
    out.putInt(1)
    out.putByte(if (value) 1 else 0)
  }
}

final private class CopyRowEncoder(to: CopyRow) extends RowEncoder {

  override def encode(row: BinaryRow): Unit = {
    to.begin(to.columns)
    var i = 0
    while (i < to.columns) {
      to.put(row, i)
      i += 1
    }
  }
}

final private class CopyChangeEncoder(to: CopyRow, identifies: Array[Boolean], operation: Int) extends RowEncoder {

  override def encode(row: BinaryRow): Unit = {
    val deletes = Operation.deletes(row, operation)
    to.begin(to.columns + 1)
    var i = 0
    while (i < to.columns) {
      if (deletes && !identifies(i)) to.putNull() else to.put(row, i)
      i += 1
    }
    to.putBoolean(deletes)
  }
}

/** Encodes values of one type in the binary form of a PostgreSQL type, preceded by the length.
  *
  * Refuses, where the row is known, values that the server would reject, failing the whole epoch, or would change. One
  * instance per task.
  *
  * @param column
  *   index in the query's rows, for messages
  */
abstract private[postgres] class CopyValue(column: Int) {

  /** Encodes a value, which must not be NULL. Addresses are those of `UnsafeLayout`. */
  def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit

  final protected def refuse(reason: String): Nothing = throw new BadValue(column, reason)
}

private[postgres] object CopyValue {

  /** PostgreSQL's limit for one value, less its header. */
  val MaxBytes: Int = 0x3fffffff - 8

  def apply(column: Int, from: DataType, to: PostgresType, nul: NulCharacter): CopyValue = (from, to.shape) match {
    case (ArrayType(element, _), array: PostgresType.Array) =>
      new ArrayValue(column, element, array, CopyValue(column, element, array.element, nul))
    case (_, PostgresType.Enum(labels)) => new LabelValue(column, labels)
    case _                              => plain(column, from, to, nul)
  }

  private def plain(column: Int, from: DataType, to: PostgresType, nul: NulCharacter): CopyValue = from match {
    case BooleanType                                   => new BooleanValue(column)
    case ByteType | ShortType | IntegerType | LongType => whole(column, ReadLong(from), to)
    case FloatType if to.name == "float4"              => new Float4(column, Memory.getFloat(_, _))
    case FloatType                                     => new Float8(column, Memory.getFloat(_, _).toDouble)
    case DoubleType                                    => new Float8(column, Memory.getDouble(_, _))
    case d: DecimalType                                => NumericValue(column, d, to)
    case BinaryType                                    => new ByteaValue(column)
    case DateType                                      => new DateValue(column)
    case TimestampType | TimestampNTZType              => new TimestampValue(column, to.fraction)
    case CalendarIntervalType                          => new CalendarIntervalValue(column, to.intervalFraction)
    case _: DayTimeIntervalType                        => new DayTimeIntervalValue(column, to.intervalFraction)
    case _: YearMonthIntervalType                      => new YearMonthIntervalValue(column)
    case _: StringType | _: CharType | _: VarcharType  => text(column, to, nul)
    case time if SparkTime.is(time)                    => new TimeValue(column, to.fraction)
    case nested                                        => new JsonTree(column, nested, to.name == "jsonb", nul)
  }

  private def whole(column: Int, read: ReadLong, to: PostgresType): CopyValue = to.name match {
    case "int2"   => new Int2(column, read)
    case "int4"   => new Int4(column, read)
    case "int8"   => new Int8(column, read)
    case "float4" => new Float4(column, read(_, _).toFloat)
    case "float8" => new Float8(column, read(_, _).toDouble)
    case _        => NumericValue.whole(column, read, to)
  }

  private def text(column: Int, to: PostgresType, nul: NulCharacter): CopyValue = to.name match {
    case "uuid"    => new UuidValue(column)
    case "inet"    => new InetValue(column, isNetwork = false)
    case "cidr"    => new InetValue(column, isNetwork = true)
    case "numeric" => new NumericText(column, to)
    case "json"    => new JsonText(column, isBinary = false, nul)
    case "jsonb"   => new JsonText(column, isBinary = true, nul)
    case "name"    => new TextValue(column, Int.MaxValue, MaxNameBytes, nul)
    case _         => new TextValue(column, to.length.getOrElse(Int.MaxValue), MaxBytes, nul)
  }

  private val MaxNameBytes = 63
}

/** A PostgreSQL array of one dimension:
  *
  * {{{
  *   int32 dimensions (0 for an empty array, which ends after the type), int32 1 where elements are NULL, int32 the element type's oid,
  *   int32 number of elements, int32 index of the first (1), then each element as in a row
  * }}}
  */
final private class ArrayValue(column: Int, from: DataType, to: PostgresType.Array, element: CopyValue)
    extends CopyValue(column) {

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
