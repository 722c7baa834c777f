package io.epochal.kit.spark.memory

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow, XXH64}
import org.apache.spark.sql.types.{DataType, Decimal, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** A row of Spark's in its binary form: one block of memory, laid out as [[UnsafeLayout]] tells. One object serves all rows
  * of a task, and shows one at a time.
  */
final class BinaryRow private (private var row: UnsafeRow) {

  /** The row as Spark takes it. It shows the next row as soon as this does. */
  def internal: InternalRow = row

  def columns: Int = row.numFields

  /** What holds the memory; null outside the heap. */
  def base: AnyRef = row.getBaseObject

  /** Address, within [[base]], of the row's first byte. */
  def origin: Long = row.getBaseOffset

  def sizeInBytes: Int = row.getSizeInBytes

  /** Address of a column's slot. */
  def slot(column: Int): Long = UnsafeLayout.slotsOfRow(origin, columns) + column * 8L

  /** Address of the bytes of a column of variable length. */
  def address(column: Int): Long = origin + (row.getLong(column) >>> 32)

  /** Their number. */
  def length(column: Int): Int = row.getLong(column).toInt

  /** XXH64 of the row's bytes. Equal rows have equal bytes: Spark itself compares grouping keys so. */
  def hash: Long = XXH64.hashUnsafeBytes(base, origin, sizeInBytes, BinaryRow.Seed)

  /** Shows the row that lies in an array of bytes. */
  def pointTo(bytes: Array[Byte], start: Int, size: Int): Unit = row.pointTo(bytes, Memory.ARRAY_START + start, size)

  def isNullAt(column: Int): Boolean = row.isNullAt(column)
  def getBoolean(column: Int): Boolean = row.getBoolean(column)
  def getByte(column: Int): Byte = row.getByte(column)
  def getShort(column: Int): Short = row.getShort(column)
  def getInt(column: Int): Int = row.getInt(column)
  def getLong(column: Int): Long = row.getLong(column)
  def getFloat(column: Int): Float = row.getFloat(column)
  def getDouble(column: Int): Double = row.getDouble(column)
  def getDecimal(column: Int, precision: Int, scale: Int): Decimal = row.getDecimal(column, precision, scale)
  def getUTF8String(column: Int): UTF8String = row.getUTF8String(column)
  def getBinary(column: Int): Array[Byte] = row.getBinary(column)
  def get(column: Int, dataType: DataType): AnyRef = row.get(column, dataType)
}

object BinaryRow {

  private val Seed = 42L

  /** Shows any row in binary form: most rows are in it already, others are copied into a buffer that the next one reuses. */
  def converter(schema: StructType): InternalRow => BinaryRow = {
    lazy val projection = UnsafeProjection.create(schema)
    val shown = new BinaryRow(null)
    (row: InternalRow) => {
      shown.row = row match {
        case unsafe: UnsafeRow => unsafe
        case other             => projection(other)
      }
      shown
    }
  }

  /** An empty one, to be pointed at bytes. */
  def empty(columns: Int): BinaryRow = new BinaryRow(new UnsafeRow(columns))
}
