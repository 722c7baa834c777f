package io.epochal.spark.seam

import scala.util.control.NonFatal

import com.fasterxml.jackson.core.{JsonFactory, JsonParser}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.json.{JSONOptions, JacksonParser}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** Rows from JSON, by Spark's own parser: types, formats and the session's settings mean what they mean in `spark.read.json`.
  *
  * What is used of it exists from Spark 4.0 to 4.3: the two constructors, `makeConverter` and `parse`. Make one for each task,
  * in the task: Spark's settings are read here.
  *
  * @param timeZone
  *   the session's, for texts that name none
  */
final class JsonRows(schema: StructType, timeZone: String) {

  private val spark =
    new JacksonParser(schema, new JSONOptions(Map.empty[String, String], timeZone, "_corrupt_record"), false)
  private val converter: JsonParser => AnyRef = spark.makeConverter(schema)

  /** The record as a row of its own.
    *
    * @param parser
    *   stands at the record's opening brace, and afterwards at its closing one
    * @throws Exception
    *   of many classes, where the record does not fit the schema or is no JSON
    */
  def row(parser: JsonParser): InternalRow = converter(parser).asInstanceOf[InternalRow]

  /** Why the record that begins at `from` gives no row, in Spark's words. */
  def reason(bytes: Array[Byte], from: Int, length: Int): Option[String] =
    try {
      val create = (factory: JsonFactory, array: Array[Byte]) => factory.createParser(array, from, length - from)
      spark.parse[Array[Byte]](bytes, create, _ => UTF8String.EMPTY_UTF8).foreach(_ => ())
      None
    } catch {
      case NonFatal(e) =>
        val causes = Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).take(20).toSeq
        Some(causes.flatMap(cause => Option(cause.getMessage)).lastOption.getOrElse(causes.last.toString))
    }
}
