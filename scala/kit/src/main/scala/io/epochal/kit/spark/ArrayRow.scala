package io.epochal.kit.spark

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow

/** Rows over an array of values. */
object ArrayRow {

  /** @param values
    *   as Spark holds them inside; a later change of the array is one of the row
    */
  def apply(values: Array[Any]): InternalRow = new GenericInternalRow(values)
}
