package io.epochal.rest.source.record

import com.fasterxml.jackson.core.JsonParser

import io.epochal.core.error.EpochalException
import io.epochal.kit.engine.{CsvRows, JsonRows}
import io.epochal.rest.http.request.{AnswerFile, BodyBuffer, Endpoint}

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

  /** Those of an answer, or of a part of one that stands for itself. */
  private[rest] def inMemory(body: Utf8Body, endpoint: Endpoint): Records[Rows]

  private[rest] def inFile(file: AnswerFile, endpoint: Endpoint): Records[Rows]

  /** Counts the records of an answer, and reads it to its end. */
  final private[rest] def count(body: BodyBuffer, endpoint: Endpoint): Long = {
    val records = open(body, endpoint)
    val found = records.skip(Long.MaxValue)
    records.finish()
    found
  }

  /** How a journal holds them. */
  private[rest] def journalled: BodyFormat

  /** What lines are split by, which a journal's reader must know; None: records do not stand in lines. */
  private[rest] def lines: Option[String]
}

object BodyFormat {

  /** Records that stand in lines. */
  sealed abstract class OfLines(name: String) extends BodyFormat(name) {

    override private[rest] def inMemory(body: Utf8Body, endpoint: Endpoint): LineRecords[Rows]

    final override private[rest] def inFile(file: AnswerFile, endpoint: Endpoint): Records[Rows] =
      new PiecedRecords(new FileLines(file, this), inMemory(_, endpoint))

    /** The answer, in pieces that memory can hold. */
    final private[rest] def pieces(body: BodyBuffer): Iterator[Utf8Body] =
      body.file.fold[Iterator[Utf8Body]](Iterator.single(Utf8Body.of(body)))(new FileLines(_, this))

    /** What must stand before lines of a piece that are to stand for themselves. */
    private[rest] def front(piece: Utf8Body): Array[Byte]

    /** How many bytes of a piece that something follows are whole lines of it, as far as the piece tells. */
    private[rest] def whole(piece: Utf8Body): Int
  }

  /** One JSON value that holds an array of records.
    *
    * @param pointer
    *   JSON Pointer to the array
    * @param mayMiss
    *   whether nothing, or null, in its place is an array without records
    */
  final case class Json(pointer: String, mayMiss: Boolean = false) extends BodyFormat("JSON") {
    override type Rows = JsonRows

    override private[rest] def rows(columns: RowColumns): JsonRows = columns.json

    override private[rest] def refuse(body: Utf8Body): Unit = ()

    override private[rest] def inMemory(body: Utf8Body, endpoint: Endpoint): Records[JsonRows] =
      orMissing(TokenRecords.parser(body))(new RecordCursor(body, pointer, endpoint))

    override private[rest] def inFile(file: AnswerFile, endpoint: Endpoint): Records[JsonRows] =
      orMissing(FileArray.parser(file, 0)) {
        new PiecedRecords(new FileArray(file, pointer, endpoint).pieces(), new RecordCursor(_, "", endpoint))
      }

    private def orMissing(body: => JsonParser)(found: => Records[JsonRows]): Records[JsonRows] =
      try found
      catch {
        case missing: EpochalException =>
          if (mayMiss && TokenRecords.missing(body, pointer)) NoRecords else throw missing
      }

    override private[rest] def journalled: BodyFormat = Json("")

    override private[rest] def lines: Option[String] = None
  }

  /** JSON values, each on its line.
    *
    * @param tolerant
    *   whether a line that is no JSON is a record, and not a fault of the answer
    */
  final case class Ndjson(tolerant: Boolean) extends OfLines("JSON") {
    override type Rows = JsonRows

    override private[rest] def rows(columns: RowColumns): JsonRows = columns.json

    override private[rest] def refuse(body: Utf8Body): Unit =
      BodyProblem.refuse(body, "<[", "JSON, one record a line")

    override private[rest] def inMemory(body: Utf8Body, endpoint: Endpoint): LineRecords[JsonRows] =
      new NdjsonCursor(body, tolerant)

    override private[rest] def front(piece: Utf8Body): Array[Byte] = Array.emptyByteArray

    override private[rest] def whole(piece: Utf8Body): Int = {
      var end = piece.length
      while (end > 0 && piece.bytes(end - 1) != '\n') end -= 1
      end
    }

    /** Whatever a line was taken for, it is a record there. */
    override private[rest] def journalled: BodyFormat = Ndjson(tolerant = true)

    override private[rest] def lines: Option[String] = Some("ndjson")
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
  final case class Csv(header: Boolean, separator: Char, nullText: Option[String]) extends OfLines("CSV") {
    override type Rows = CsvRows

    override private[rest] def rows(columns: RowColumns): CsvRows = columns.csv

    override private[rest] def refuse(body: Utf8Body): Unit = BodyProblem.refuse(body, "<", "CSV")

    override private[rest] def inMemory(body: Utf8Body, endpoint: Endpoint): LineRecords[CsvRows] =
      new CsvCursor(body, this, endpoint)

    /** The header; where there is none, an empty line: what follows cannot be taken for a byte order mark then. */
    override private[rest] def front(piece: Utf8Body): Array[Byte] = {
      val line = split(piece)
      (if (header && line.next()) line.bytes else Array.emptyByteArray) :+ '\n'.toByte
    }

    /** A line may go on behind the piece, and so may a field in quotes. A piece with one line has nothing that is known to be whole. */
    override private[rest] def whole(piece: Utf8Body): Int = {
      val line = split(piece)
      var first = -1
      try
        while (line.next())
          if (first < 0) first = line.start
      catch { case _: BodyProblem => () }
      if (first < 0 || line.start == first) 0 else line.start
    }

    override private[rest] def journalled: BodyFormat = this

    override private[rest] def lines: Option[String] = Some(s"csv, sep='$separator', header=$header")

    private[rest] def split(body: Utf8Body): CsvLine = new CsvLine(body, separator.toByte, nullText)
  }
}
