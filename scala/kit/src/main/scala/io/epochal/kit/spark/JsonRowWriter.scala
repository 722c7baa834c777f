package io.epochal.kit.spark

import java.io.Writer

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.json.{JSONOptions, JacksonGenerator}
import org.apache.spark.sql.types.StructType

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
