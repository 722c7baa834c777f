package io.epochal.kit.spark.memory

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow, XXH64}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** A Spark row in its binary form: one block of memory, laid out as [[UnsafeLayout]] describes. One object serves all rows of a
  * task, one at a time.
  */
final class BinaryRow private (private var row: UnsafeRow) {

  /** The row for Spark. It changes together with this object. */
  def internal: InternalRow = row

  def columns: Int = row.numFields

  /** The object that holds the memory; null outside the heap. */
  def base: AnyRef = row.getBaseObject

  /** Address, within [[base]], of the row's first byte. */
  def origin: Long = row.getBaseOffset

  def sizeInBytes: Int = row.getSizeInBytes

  def slot(column: Int): Long = UnsafeLayout.slotsOfRow(origin, columns) + column * 8L

  /** Address of the bytes of a variable-length column. */
  def address(column: Int): Long = origin + (row.getLong(column) >>> 32)

  /** The number of those bytes. */
  def length(column: Int): Int = row.getLong(column).toInt

  /** XXH64 of the row's bytes. Equal rows have equal bytes: Spark itself compares grouping keys by them. */
  def hash: Long = XXH64.hashUnsafeBytes(base, origin, sizeInBytes, BinaryRow.Seed)

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

  /** Converts rows to binary form: most are in it already, others are copied into a reused buffer. */
  def converter(schema: StructType): InternalRow => BinaryRow = {
    lazy val projection = UnsafeProjection.create(schema)
    val view = new BinaryRow(null)
    (row: InternalRow) => {
      view.row = row match {
        case unsafe: UnsafeRow => unsafe
        case other             => projection(other)
      }
      view
    }
  }

  /** An empty row, to be pointed at bytes. */
  def empty(columns: Int): BinaryRow = new BinaryRow(new UnsafeRow(columns))
}
