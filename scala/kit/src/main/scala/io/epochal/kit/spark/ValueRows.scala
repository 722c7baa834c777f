package io.epochal.kit.spark

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData, MapData}
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** Between rows of plain values, as `Row` holds them, and rows as Spark holds them inside. One thread at a time. */
final class ValueRows(schema: StructType) {
  private val inward = CatalystTypeConverters.createToCatalystConverter(schema)
  private val outward = CatalystTypeConverters.createToScalaConverter(schema)

  /** @throws IllegalArgumentException
    *   for a number of values that is not the number of columns, or a value that does not fit its column
    */
  def row(values: Array[AnyRef]): InternalRow = {
    require(values.length == schema.length, s"a row of ${schema.length} columns was given ${values.length} values")
    inward(Row.fromSeq(values.toIndexedSeq)).asInstanceOf[InternalRow]
  }

  def values(row: InternalRow): Row = outward(row).asInstanceOf[Row]
}

/** Rows over an array of values. */
object ArrayRow {

  /** @param values
    *   as Spark holds them inside; a later change of the array is one of the row
    */
  def apply(values: Array[Any]): InternalRow = new GenericInternalRow(values)
}

/** A value of MAP<STRING, STRING>, as Spark has it in its rows. */
object TextMap {

  def apply(texts: Map[String, String]): MapData = {
    val (keys, values) = texts.toSeq.sorted.unzip
    new ArrayBasedMapData(array(keys), array(values))
  }

  private def array(texts: Seq[String]): GenericArrayData =
    new GenericArrayData(texts.map(UTF8String.fromString).toArray[Any])
}
