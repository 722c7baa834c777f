package io.epochal.spark.source.rest

import io.epochal.spark.http.{BodyBuffer, Endpoint}
import io.epochal.spark.seam.JsonRows

/** How an answer holds its records. */
sealed trait BodyFormat extends Serializable {

  /** What makes rows of records. */
  type Rows

  /** Made once for each task, in the task. */
  private[rest] def rows(columns: RowColumns): Rows

  /** Stands before the first record.
    *
    * @param marked
    *   whether each record's bytes can be asked for
    */
  private[rest] def open(body: BodyBuffer, endpoint: Endpoint, marked: Boolean): Records[Rows]

  /** Counts the records of an answer, and reads it to its end. */
  final private[rest] def count(body: BodyBuffer, endpoint: Endpoint): Long = {
    val records = open(body, endpoint, marked = false)
    val found = records.skip(Long.MaxValue)
    records.finish()
    found
  }
}

object BodyFormat {

  /** One JSON value that holds an array of records.
    *
    * @param pointer
    *   JSON Pointer to the array
    */
  final case class Json(pointer: String) extends BodyFormat {
    override type Rows = JsonRows

    override private[rest] def rows(columns: RowColumns): JsonRows = columns.json

    override private[rest] def open(body: BodyBuffer, endpoint: Endpoint, marked: Boolean): Records[JsonRows] =
      new RecordCursor(body, pointer, endpoint, marked)
  }
}
