package io.epochal.kit.spark

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow

object ArrayRow {

  /** A row over an array, without a copy.
    *
    * @param values
    *   in Spark's internal form; later changes of the array change the row
    */
  def apply(values: Array[Any]): InternalRow = new GenericInternalRow(values)
}
