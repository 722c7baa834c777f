package io.epochal.kit.spark

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.types.StructType

/** Converts between rows of plain values, as in `Row`, and Spark's internal rows. One thread at a time. */
final class ValueRows(schema: StructType) {
  private val inward = CatalystTypeConverters.createToCatalystConverter(schema)
  private val outward = CatalystTypeConverters.createToScalaConverter(schema)

  /** Converts values to a row.
    *
    * @throws IllegalArgumentException
    *   if the number of values is not the number of columns, or a value does not fit its column
    */
  def row(values: Array[AnyRef]): InternalRow = {
    require(values.length == schema.length, s"a row of ${schema.length} columns was given ${values.length} values")
    inward(Row.fromSeq(values.toIndexedSeq)).asInstanceOf[InternalRow]
  }

  def values(row: InternalRow): Row = outward(row).asInstanceOf[Row]
}
