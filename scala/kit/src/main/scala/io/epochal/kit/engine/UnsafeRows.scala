package io.epochal.kit.engine

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow => SparkUnsafeRow, XXH64}
import org.apache.spark.sql.types.StructType

/** What a sink does with rows as they lie in memory.
  *
  * Layout of an `UnsafeRow`: a bit set of NULLs, then eight bytes for each column, then what does not fit there. For such
  * a column (string, binary, decimal of more than 18 digits) the eight bytes hold the offset of its bytes from the start
  * of the row (upper half) and their number (lower half).
  */
object UnsafeRows {

  private val Seed = 42L

  /** Gives any row as an `UnsafeRow`: most are one already; others are copied into a buffer that the next row reuses. */
  def converter(schema: StructType): InternalRow => UnsafeRow = {
    lazy val projection = UnsafeProjection.create(schema)

    {
      case row: SparkUnsafeRow => row
      case row                 => projection(row)
    }
  }

  /** XXH64 of the row's bytes. Equal rows have equal bytes: Spark itself compares grouping keys so. */
  def hash(row: UnsafeRow): Long = XXH64.hashUnsafeBytes(row.getBaseObject, row.getBaseOffset, row.getSizeInBytes, Seed)

  /** Address, within the row's base object, of the bytes of a column of variable length. */
  def address(row: UnsafeRow, column: Int): Long = row.getBaseOffset + (row.getLong(column) >>> 32)

  /** Their number. */
  def length(row: UnsafeRow, column: Int): Int = row.getLong(column).toInt

  /** An empty row to be pointed at bytes. */
  def pointer(columns: Int): UnsafeRow = new SparkUnsafeRow(columns)
}
