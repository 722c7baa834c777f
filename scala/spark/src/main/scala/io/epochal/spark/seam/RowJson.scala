package io.epochal.spark.seam

import java.io.CharArrayWriter

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.json.{JSONOptions, JacksonGenerator}
import org.apache.spark.sql.types.StructType

/** Rows as JSON, written by Spark's own generator as `to_json` does, with NULLs, times in UTC and to the microsecond.
  *
  * What is used of Spark exists from 4.0 to 4.3. Make one in the task: Spark's settings are read here.
  */
final class RowJson(schema: StructType) {

  private val options = new JSONOptions(
    Map(
      "ignoreNullFields" -> "false",
      "timestampFormat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
      "timestampNTZFormat" -> "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"),
    "UTC")

  /** One object. A row that Spark cannot write gives one that says why. */
  def apply(row: UnsafeRow): String =
    try {
      val out = new CharArrayWriter
      val generator = new JacksonGenerator(schema, out, options)
      generator.write(row)
      generator.close()
      out.toString
    } catch {
      case NonFatal(error) => s"""{"epochal_unwritable":"${error.getClass.getName}"}"""
    }
}
