package io.epochal.kit.spark

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData, MapData}
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

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

/** Rows over an array of values. */
object ArrayRow {

  /** A row over an array, without a copy.
    *
    * @param values
    *   in Spark's internal form; later changes of the array change the row
    */
  def apply(values: Array[Any]): InternalRow = new GenericInternalRow(values)
}

/** A value of MAP<STRING, STRING> in Spark's internal form. */
object TextMap {

  def apply(texts: Map[String, String]): MapData = {
    val (keys, values) = texts.toSeq.sorted.unzip
    new ArrayBasedMapData(array(keys), array(values))
  }

  private def array(texts: Seq[String]): GenericArrayData =
    new GenericArrayData(texts.map(UTF8String.fromString).toArray[Any])
}
