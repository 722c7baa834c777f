package io.epochal.jdbc.postgres

import org.apache.spark.sql.types.DataType

import io.epochal.kit.sink.row.{BadValue, ChunkedBytes}
import io.epochal.kit.spark.memory.UnsafeLayout

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

  /** `MaxArraySize`: PostgreSQL keeps 8 bytes for each of them. */
  private def MaxElements = CopyValue.MaxBytes / 8
}
