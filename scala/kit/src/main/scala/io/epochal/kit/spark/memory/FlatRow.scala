package io.epochal.kit.spark.memory

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.StructType

/** Copies the columns of a row's STRUCT, all NULL if it is, and further columns of the row, into a row of their own. The result is
  * reused.
  *
  * @param struct
  *   index of the STRUCT
  * @param others
  *   indexes of the further columns
  */
final class FlatRow(schema: StructType, struct: Int, others: Seq[Int]) {
  private val columns = schema(struct).dataType.asInstanceOf[StructType]
  private val (own, more) = (columns.length, others.toArray)
  private val total = own + more.length
  private val isVariable = columns.map(field => !UnsafeRow.isFixedLength(field.dataType)).toArray
  private val areVariable = more.map(column => !UnsafeRow.isFixedLength(schema(column).dataType))
  private val slots = UnsafeLayout.slotsOfRow(0, total).toInt
  private val start = slots + total * 8
  private val row = BinaryRow.empty(total)
  private var bytes = new Array[Byte](start + 256)

  def apply(from: BinaryRow): BinaryRow = {
    var end = if (from.isNullAt(struct)) empty() else copy(from.base, from.address(struct), from.length(struct))
    var i = 0
    while (i < more.length) {
      val column = more(i)
      val slot = address(slots + (own + i) * 8)
      if (from.isNullAt(column)) {
        setNull(own + i)
        Memory.putLong(bytes, slot, 0L)
      } else if (!areVariable(i)) Memory.putLong(bytes, slot, Memory.getLong(from.base, from.slot(column)))
      else {
        val length = from.length(column)
        reserve(end, length + 8)
        Memory.putLong(bytes, address(end + (length & ~7)), 0L)
        Memory.copy(from.base, from.address(column), bytes, address(end), length.toLong)
        Memory.putLong(bytes, slot, (end.toLong << 32) | length)
        end += (length + 7) & ~7
      }
      i += 1
    }
    row.pointTo(bytes, 0, end)
    row
  }

  /** Sets the columns of the STRUCT to NULL; returns the end of the row so far. */
  private def empty(): Int = {
    java.util.Arrays.fill(bytes, 0, start, 0.toByte)
    (0 until own).foreach(setNull)
    start
  }

  /** Copies the STRUCT, whose variable-length data follow the slots of all columns then. */
  private def copy(base: AnyRef, origin: Long, size: Int): Int = {
    val before = (UnsafeLayout.slotsOfRow(0, own) + own * 8L).toInt
    val shift = (start - before).toLong << 32
    reserve(start, size - before)
    java.util.Arrays.fill(bytes, 0, slots, 0.toByte)
    Memory.copy(base, origin, bytes, address(0), before - own * 8L)
    Memory.copy(base, origin + before - own * 8L, bytes, address(slots), own * 8L)
    Memory.copy(base, origin + before, bytes, address(start), (size - before).toLong)
    var i = 0
    while (i < own) {
      if (isVariable(i)) {
        val slot = address(slots + i * 8)
        Memory.putLong(bytes, slot, Memory.getLong(bytes, slot) + shift)
      }
      i += 1
    }
    start + size - before
  }

  private def setNull(column: Int): Unit = {
    val word = address((column >> 6) * 8)
    Memory.putLong(bytes, word, Memory.getLong(bytes, word) | (1L << (column & 63)))
  }

  /** Makes room for bytes behind an end. */
  private def reserve(end: Int, more: Int): Unit =
    if (bytes.length < end + more) bytes = java.util.Arrays.copyOf(bytes, math.max(end + more, bytes.length * 2))

  private def address(at: Int): Long = (Memory.ARRAY_START + at).toLong
}
