package io.epochal.spark.source.rest.record

import io.epochal.spark.http.{AnswerFile, BodyBuffer, Endpoint}
import io.epochal.spark.seam.{CsvRows, JsonRows}

/** How an answer holds its records. */
sealed abstract class BodyFormat(val name: String) extends Serializable {

  /** What makes rows of records. */
  type Rows

  /** Made once for each task, in the task. */
  private[rest] def rows(columns: RowColumns): Rows

  /** Stands before the first record. */
  final private[rest] def open(body: BodyBuffer, endpoint: Endpoint): Records[Rows] =
    if (body.absent) NoRecords
    else {
      val bytes = Utf8Body.of(body)
      refuse(bytes)
      body.file.fold(inMemory(bytes, endpoint))(inFile(_, endpoint))
    }

  /** Refuses an answer that is plainly something else, by its beginning. */
  private[rest] def refuse(body: Utf8Body): Unit

  private[rest] def inMemory(body: Utf8Body, endpoint: Endpoint): Records[Rows]

  private[rest] def inFile(file: AnswerFile, endpoint: Endpoint): Records[Rows]

  /** Counts the records of an answer, and reads it to its end. */
  final private[rest] def count(body: BodyBuffer, endpoint: Endpoint): Long = {
    val records = open(body, endpoint)
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
  final case class Json(pointer: String) extends BodyFormat("JSON") {
    override type Rows = JsonRows

    override private[rest] def rows(columns: RowColumns): JsonRows = columns.json

    override private[rest] def refuse(body: Utf8Body): Unit = ()

    override private[rest] def inMemory(body: Utf8Body, endpoint: Endpoint): Records[JsonRows] =
      new RecordCursor(body, pointer, endpoint)

    override private[rest] def inFile(file: AnswerFile, endpoint: Endpoint): Records[JsonRows] =
      new PiecedRecords(new FileArray(file, pointer, endpoint).pieces(), new RecordCursor(_, "", endpoint))
  }

  /** JSON values, each on its line.
    *
    * @param tolerant
    *   whether a line that is no JSON is a record, and not a fault of the answer
    */
  final case class Ndjson(tolerant: Boolean) extends BodyFormat("JSON") {
    override type Rows = JsonRows

    override private[rest] def rows(columns: RowColumns): JsonRows = columns.json

    override private[rest] def refuse(body: Utf8Body): Unit =
      BodyProblem.refuse(body, "<[", "JSON, one record a line")

    override private[rest] def inMemory(body: Utf8Body, endpoint: Endpoint): Records[JsonRows] =
      new NdjsonCursor(body, tolerant)

    override private[rest] def inFile(file: AnswerFile, endpoint: Endpoint): Records[JsonRows] =
      new PiecedRecords(FileLines.ofNdjson(file), inMemory(_, endpoint))
  }

  /** Lines of fields (RFC 4180).
    *
    * @param header
    *   whether the first line of each answer names the fields; without it they are the columns in their order
    * @param separator
    *   an ASCII character
    * @param nullText
    *   an unquoted text that means NULL, as an empty one does
    */
  final case class Csv(header: Boolean, separator: Char, nullText: Option[String]) extends BodyFormat("CSV") {
    override type Rows = CsvRows

    override private[rest] def rows(columns: RowColumns): CsvRows = columns.csv

    override private[rest] def refuse(body: Utf8Body): Unit = BodyProblem.refuse(body, "<", "CSV")

    override private[rest] def inMemory(body: Utf8Body, endpoint: Endpoint): Records[CsvRows] =
      new CsvCursor(body, this, endpoint)

    override private[rest] def inFile(file: AnswerFile, endpoint: Endpoint): Records[CsvRows] =
      new PiecedRecords(FileLines.ofCsv(file, this), inMemory(_, endpoint))

    private[rest] def lines(body: Utf8Body): CsvLine = new CsvLine(body, separator.toByte, nullText)
  }
}
