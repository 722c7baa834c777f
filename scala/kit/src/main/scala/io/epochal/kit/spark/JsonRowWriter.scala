package io.epochal.kit.spark

import java.io.{CharArrayWriter, Writer}

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.json.{JSONOptions, JacksonGenerator}
import org.apache.spark.sql.types.StructType

import io.epochal.kit.spark.memory.BinaryRow

/** Writes rows as JSON objects without separators, using Spark's own generator as `to_json` does, with times in UTC and in
  * microseconds.
  *
  * Uses only API that Spark has from 4.0 to 4.3. Create it in the task: Spark's settings are read here.
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

  /** Writes one row. On return, the whole object is in `out`.
    *
    * @throws Exception
    *   of many classes, if a value has no JSON form; `out` may then hold a part of the row
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

/** Rows as JSON with NULLs, one at a time, written by [[JsonRowWriter]]. Create it in the task. */
final class RowJson(schema: StructType) {

  private val out = new CharArrayWriter
  private lazy val writer = new JsonRowWriter(schema, ignoreNullFields = false, out)

  /** One object. If Spark cannot write the row, the object holds the reason. */
  def apply(row: BinaryRow): String =
    try {
      out.reset()
      writer.write(row.internal)
      out.toString
    } catch {
      case NonFatal(error) => s"""{"epochal_unwritable":"${error.getClass.getName}"}"""
    }
}
