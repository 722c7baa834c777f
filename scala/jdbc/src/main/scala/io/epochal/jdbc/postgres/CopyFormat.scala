package io.epochal.jdbc.postgres

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.jdbc.database.{BoundColumn, BoundTable, Operation}
import io.epochal.jdbc.row.{CharacterSet, NulCharacter}
import io.epochal.kit.database.PostgresType
import io.epochal.kit.sink.row.{BadValue, ChunkedBytes, RowEncoder, RowFormat}
import io.epochal.kit.spark.memory.{BinaryRow, UnsafeLayout}

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
      if (Operation.omits(effect, cell.identifies)) putNull()
      else if (!row.isNullAt(cell.ordinal)) cell.value.encode(row.base, row.origin, row.slot(cell.ordinal), out)
      else if (cell.required && Operation.requires(effect, cell.identifies, operation.isPartial(row)))
        throw new BadValue(cell.ordinal, BadValue.Missing)
      else putNull()
      i += 1
    }
    if (operation.width > 0) CopyValue.begin(out, 1).putByte(if (Operation.deletes(effect)) 1 else 0)
    if (operation.width > 1) {
      putText(operation.version(row, effect))
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

/** A PostgreSQL array of one dimension:
  *
  * {{{
  *   int32 dimensions (0 for an empty array, which ends after the type), int32 1 where elements are NULL, int32 the element type's oid,
  *   int32 number of elements, int32 index of the first (1), then each element as in a row
  * }}}
  */
final private class ArrayValue(column: Int, from: DataType, to: PostgresType, element: CopyValue)
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
    out.putInt(to.oid.toInt)
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
        else if (to.isRequired) refuse(BadValue.Missing)
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
