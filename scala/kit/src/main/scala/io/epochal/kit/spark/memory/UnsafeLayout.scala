package io.epochal.kit.spark.memory

import java.time.ZoneOffset

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.VariantVal

/** The layout of Spark's rows, arrays and maps. Each is one block of memory:
  *
  * {{{
  *   row    bit set of NULLs, a slot of 8 bytes for each column, then variable-length data
  *   array  int64 number of elements, bit set of NULLs, a slot for each element, then variable-length data
  *   map    int64 bytes of the keys' array, that array, the array of the values
  * }}}
  *
  * A bit set has whole words of 8 bytes. A slot holds the value or, for variable lengths (texts, bytes, decimals of more than
  * 18 digits, all nested values), the offset of its bytes from the beginning of their row or array (upper half) and their
  * number (lower half). In an array a slot is as wide as the element.
  *
  * Addresses are those of `Platform`, relative to the object that holds the memory. `origin` is the beginning of the row or
  * array that a slot belongs to.
  */
object UnsafeLayout {
  def slotsOfRow(origin: Long, columns: Int): Long = origin + bitSetBytes(columns)

  def isNullInRow(base: AnyRef, origin: Long, column: Int): Boolean = isSet(base, origin, column)

  def arraySize(base: AnyRef, array: Long): Int = Memory.getLong(base, array).toInt

  def slotsOfArray(array: Long, size: Int): Long = array + 8 + bitSetBytes(size)

  def isNullInArray(base: AnyRef, array: Long, element: Int): Boolean = isSet(base, array + 8, element)

  /** Bytes of an element's slot. */
  def slotWidth(element: DataType): Int = element match {
    case BooleanType | ByteType                                        => 1
    case ShortType                                                     => 2
    case IntegerType | FloatType | DateType | _: YearMonthIntervalType => 4
    case _                                                             => 8
  }

  def mapKeys(map: Long): Long = map + 8

  def mapValues(base: AnyRef, map: Long): Long = map + 8 + Memory.getLong(base, map)

  /** Address of the bytes that a slot points to. */
  def address(base: AnyRef, origin: Long, slot: Long): Long = origin + (Memory.getLong(base, slot) >>> 32)

  /** The number of those bytes. */
  def length(base: AnyRef, slot: Long): Int = Memory.getLong(base, slot).toInt

  /** Days and months of a calendar interval come first, then its microseconds. */
  def intervalMonths(base: AnyRef, interval: Long): Int = Memory.getInt(base, interval)
  def intervalDays(base: AnyRef, interval: Long): Int = Memory.getInt(base, interval + 4)
  def intervalMicros(base: AnyRef, interval: Long): Long = Memory.getLong(base, interval + 8)

  /** A variant in Spark's own JSON, with times in UTC.
    *
    * @throws RuntimeException
    *   if its bytes are not a variant
    */
  def variantJson(base: AnyRef, origin: Long, slot: Long): String =
    VariantVal.readFromUnsafeRow(Memory.getLong(base, slot), base, origin).toJson(ZoneOffset.UTC)

  private def bitSetBytes(bits: Int): Long = ((bits + 63L) / 64) * 8

  private def isSet(base: AnyRef, bits: Long, index: Int): Boolean =
    (Memory.getLong(base, bits + (index >> 6) * 8L) & (1L << (index & 63))) != 0
}
