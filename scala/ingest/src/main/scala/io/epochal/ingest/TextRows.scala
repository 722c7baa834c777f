package io.epochal.ingest

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.source.journal.JournalRows
import io.epochal.kit.spark.ArrayRow

/** Rows of text: the record as it came, and where it came from. The row, and the bytes of its text, are used again. */
final private class TextRows(arrivals: ArrivalReader, schema: StructType, replacesInvalid: Boolean)
    extends JournalRows {
  private val values = new Array[Any](schema.length)
  private val current = ArrayRow(values)
  private val text = schema.fieldNames.indexOf("value")
  private var from: ArrivalOrigin = _

  override def next(): Boolean = {
    val more = arrivals.next()
    if (more) {
      val arrival = arrivals.arrival
      if (from == null || (from.arrival ne arrival)) {
        from = new ArrivalOrigin(arrival)
        schema.fieldNames.indices.filter(_ != text).foreach { column =>
          values(column) = from.value(schema(column).name)
        }
      }
      if (text >= 0) values(text) = textOf(arrivals.begin, arrivals.end)
    }
    more
  }

  override def row: InternalRow = current

  override def number: Long = arrivals.number

  override def close(): Unit = arrivals.close()

  private def textOf(begin: Int, end: Int): UTF8String = {
    val found = UTF8String.fromBytes(arrivals.arrival.payload, begin, end - begin)
    if (replacesInvalid && !isAscii(begin, end)) found.makeValid() else found
  }

  private def isAscii(begin: Int, end: Int): Boolean = {
    val bytes = arrivals.arrival.payload
    var at = begin
    while (at < end && bytes(at) >= 0) at += 1
    at == end
  }
}
