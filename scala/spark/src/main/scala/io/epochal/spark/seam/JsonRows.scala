package io.epochal.spark.seam

import scala.util.control.NonFatal

import com.fasterxml.jackson.core.{JsonFactory, JsonParser, JsonToken}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.json.{JSONOptions, JacksonParser}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** Rows from JSON. Every value is read by Spark's own parser: types, formats and the session's settings mean what they mean
  * in `spark.read.json`. The loop over a record's fields is ours: Spark's works out the columns' defaults for each record
  * anew, which takes a third of its time.
  *
  * What is used of Spark exists from 4.0 to 4.3: the two constructors, `makeConverter` and `parse`. Make one for each task, in
  * the task: Spark's settings are read here.
  *
  * @param timeZone
  *   the session's, for texts that name none
  */
final class JsonRows(schema: StructType, timeZone: String) {

  private val spark =
    new JacksonParser(schema, new JSONOptions(Map.empty[String, String], timeZone, "_corrupt_record"), false)
  private val converters: Array[JsonParser => AnyRef] = schema.fields.map(field => spark.makeConverter(field.dataType))
  private val names: Array[String] = schema.fieldNames
  private val columns = new java.util.HashMap[String, Integer]
  names.zipWithIndex.foreach { case (name, column) => columns.put(name, column) }

  /** The record as a row of its own. Fields without a column are passed over; of two fields with one name the last counts.
    *
    * @param parser
    *   stands at the record's opening brace, and afterwards at its closing one
    * @throws Exception
    *   of many classes, where the record does not fit the schema or is no JSON
    */
  def row(parser: JsonParser): InternalRow = {
    val values = new Array[Any](names.length)
    var expected = 0
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      val column = columnOf(parser.currentName, expected)
      parser.nextToken()
      if (column < 0) parser.skipChildren()
      else {
        values(column) = converters(column)(parser)
        expected = column + 1
      }
    }
    new GenericInternalRow(values)
  }

  /** Fields mostly come in the order of the columns. */
  private def columnOf(name: String, expected: Int): Int =
    if (expected < names.length && names(expected) == name) expected
    else {
      val column = columns.get(name)
      if (column == null) -1 else column
    }

  /** Why the record that begins at `from` gives no row, in Spark's words. */
  def reason(bytes: Array[Byte], from: Int, length: Int): Option[String] =
    try {
      val create = (factory: JsonFactory, array: Array[Byte]) => factory.createParser(array, from, length - from)
      spark.parse[Array[Byte]](bytes, create, _ => UTF8String.EMPTY_UTF8).foreach(_ => ())
      None
    } catch {
      case NonFatal(e) =>
        val causes = Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).take(20).toSeq
        val text = causes.flatMap(cause => Option(cause.getMessage)).lastOption.getOrElse(causes.last.toString)
        Some(text.replaceFirst("^\\[[A-Z_.]+] ", "").replaceFirst("\\.?\\s*(SQLSTATE: \\w+)?\\s*$", ""))
    }
}
