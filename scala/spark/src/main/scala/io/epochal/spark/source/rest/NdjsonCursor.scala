package io.epochal.spark.source.rest

import java.util.Arrays

import com.fasterxml.jackson.core.io.JsonEOFException
import com.fasterxml.jackson.core.{JsonParser, JsonProcessingException, JsonToken}
import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.spark.http.{BodyBuffer, Json}
import io.epochal.spark.seam.{Examined, JsonRows}

/** Steps through an answer that holds one JSON value after another, each on a line of its own.
  *
  * One parser reads from record to record. A line that is no JSON is a fault of the answer, or, where `tolerant`, a record
  * that does not fit: from the first such line on each line is then read by a parser of its own. What is read by lines
  * depends on the bytes alone, so that every count of an answer is the same. A last line that lacks its end is a fault in
  * any case: the answer broke off.
  */
final private[rest] class NdjsonCursor(buffer: BodyBuffer, marked: Boolean, tolerant: Boolean)
    extends Records[JsonRows] {

  private val body = Utf8Body.of(buffer)
  BodyProblem.refuse(body, "<[", "JSON, one record a line")

  private var parser: JsonParser = Json.factory.createParser(body.bytes, 0, body.length)
  private val root = parser.getParsingContext
  private var start = 0
  private var line: Array[Byte] = _
  private var lineFits = true

  /** By lines: where the next one begins. */
  private var position = -1

  override def next(): Boolean =
    if (position >= 0) nextLine()
    else {
      val done = if (tolerant) parser.currentLocation().getByteOffset.toInt else 0
      try {
        val more = parser.nextToken() != null
        if (more && (marked || tolerant)) start = parser.currentTokenLocation().getByteOffset.toInt
        more
      } catch {
        case _: JsonProcessingException if tolerant => byLines(done)
      }
    }

  override def pass(): Unit = if (position < 0) {
    try { val _ = end() }
    catch { case _: JsonProcessingException if tolerant => val _ = byLines(start) }
  }

  override def row(rows: JsonRows): InternalRow =
    if (lineFits && parser.currentToken == JsonToken.START_OBJECT) rows.row(parser) else throw new NoObjectException

  override def examine(rows: JsonRows): Examined = {
    pass()
    rows.examine(bytes)
  }

  override def bytes: Array[Byte] = if (position < 0) Arrays.copyOfRange(body.bytes, start, end()) else line

  override def size: Int = if (position < 0) end() - start else line.length

  override def finish(): Unit = {
    val _ = skip(Long.MaxValue)
  }

  private def end(): Int = {
    while (parser.getParsingContext ne root) parser.nextToken()
    parser.finishToken()
    parser.currentLocation().getByteOffset.toInt
  }

  /** The line that has the first bytes from `from` on becomes the record. */
  private def byLines(from: Int): Boolean = {
    position = from
    nextLine()
  }

  private def nextLine(): Boolean = {
    while (position < body.length && isBlank(body.bytes(position))) position += 1
    if (position >= body.length) false
    else {
      val begin = position
      while (position < body.length && body.bytes(position) != '\n') position += 1
      val cut = if (body.bytes(position - 1) == '\r') position - 1 else position
      line = Arrays.copyOfRange(body.bytes, begin, cut)
      lineFits = isJson(lastLine = position == body.length)
      parser = Json.factory.createParser(line)
      if (lineFits) parser.nextToken()
      true
    }
  }

  private def isBlank(byte: Byte): Boolean = byte >= 0 && byte <= ' '

  private def isJson(lastLine: Boolean): Boolean =
    try {
      val check = Json.factory.createParser(line)
      check.nextToken()
      check.skipChildren()
      check.nextToken() == null
    } catch {
      case e: JsonEOFException if lastLine => throw e
      case _: JsonProcessingException      => false
    }
}
