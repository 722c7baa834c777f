package io.epochal.kit.spark

import java.io.{CharArrayWriter, Writer}

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.json.{JSONOptions, JacksonGenerator}
import org.apache.spark.sql.types.StructType

import io.epochal.kit.spark.memory.BinaryRow

/** Rows as JSON objects, one after the other and with nothing between them, written by Spark's own generator as `to_json`
  * does, times in UTC and to the microsecond.
  *
  * What is used of Spark exists from 4.0 to 4.3. Make one in the task: Spark's settings are read here.
  *
  * @param ignoreNullFields
  *   whether NULLs are left out
  */
final class JsonRowWriter(schema: StructType, ignoreNullFields: Boolean, out: Writer) {

  private val options = new JSONOptions(
    Map(
      "ignoreNullFields" -> ignoreNullFields.toString,
      "timestampFormat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
      "timestampNTZFormat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"),
    "UTC",
    "_corrupt_record")
  private var generator = fresh()

  /** When it has returned, all of the object is in `out`.
    *
    * @throws Exception
    *   of many classes, where a value has no form in JSON; `out` may then have a part of the row
    */
  def write(row: InternalRow): Unit =
    try {
      generator.write(row)
      generator.flush()
    } catch {
      case NonFatal(error) =>
        generator = fresh()
        throw error
    }

  private def fresh(): JacksonGenerator = new JacksonGenerator(schema, out, options)
}

/** Rows as JSON with NULLs, one at a time, as [[JsonRowWriter]] writes them. Make one in the task. */
final class RowJson(schema: StructType) {

  private val out = new CharArrayWriter
  private lazy val writer = new JsonRowWriter(schema, ignoreNullFields = false, out)

  /** One object. A row that Spark cannot write gives one that says why. */
  def apply(row: BinaryRow): String =
    try {
      out.reset()
      writer.write(row.internal)
      out.toString
    } catch {
      case NonFatal(error) => s"""{"epochal_unwritable":"${error.getClass.getName}"}"""
    }
}
