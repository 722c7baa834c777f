package io.epochal.kit.spark

import java.io.CharArrayWriter

import scala.util.control.NonFatal

import org.apache.spark.sql.types.StructType

import io.epochal.kit.spark.memory.BinaryRow

/** Rows as JSON with NULLs, one at a time, written by [[JsonRowWriter]]. Create it in the task. */
final class RejectedRowJson(schema: StructType) {

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
