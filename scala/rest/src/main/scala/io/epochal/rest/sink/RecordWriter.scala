package io.epochal.rest.sink

import scala.collection.mutable

import org.apache.spark.sql.types._

import io.epochal.kit.spark.memory.BinaryRow
import io.epochal.kit.spark.{ArrayRow, JsonRowWriter}

/** Writes the columns of a change that the row has, for one task. */
final private[rest] class RecordWriter(columns: Seq[NamedColumn], ignoreNullFields: Boolean, out: Utf8Bytes) {
  private val writers = mutable.HashMap.empty[Set[String], BinaryRow => Unit]

  def write(row: BinaryRow, without: Set[String]): Unit = {
    if (writers.size > RecordWriter.Remembered) writers.clear()
    writers.getOrElseUpdate(without, writer(columns.filterNot(column => without(column.field.name))))(row)
  }

  private def writer(columns: Seq[NamedColumn]): BinaryRow => Unit = {
    val values = new Array[Any](columns.size)
    val record = ArrayRow(values)
    val json = new JsonRowWriter(StructType(columns.map(_.field)), ignoreNullFields, out)
    row => {
      columns.iterator.zipWithIndex.foreach { case (column, i) =>
        values(i) = row.get(column.ordinal, column.field.dataType)
      }
      json.write(record)
    }
  }
}

private object RecordWriter {

  /** Combinations of absent columns; few tables have several large ones. */
  private val Remembered = 64
}
