package io.epochal.kit.record

import java.util.Arrays

import scala.util.Using

import com.fasterxml.jackson.core.io.JsonEOFException
import com.fasterxml.jackson.core.{JsonParseException, JsonParser, JsonProcessingException, JsonToken}
import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.kit.json.{Json, JsonScan}

private[epochal] trait LineRecords extends Records {

  /** The byte at which the record's line begins. */
  def start: Int
}

/** Iterates over the lines of a piece, each with one JSON value.
  *
  * A line that is not JSON is an error of the body, or, if `tolerant`, a record that does not fit. An incomplete last line is
  * always an error: the body is truncated.
  */
final private[record] class NdjsonRecords(piece: Piece, tolerant: Boolean) extends LineRecords {

  private var line = Array.emptyByteArray
  private var begin = 0
  private var position = 0

  override def start: Int = begin

  override def next(): Boolean = {
    while (position < piece.length && isBlank(piece.bytes(position))) position += 1
    val more = position < piece.length
    if (more) {
      begin = position
      while (position < piece.length && piece.bytes(position) != '\n') position += 1
      val end = if (piece.bytes(position - 1) == '\r') position - 1 else position
      line = Arrays.copyOfRange(piece.bytes, begin, end)
      if (tolerant && position == piece.length) checkEnd()
    }
    more
  }

  override def pass(): Unit = if (!tolerant) check()

  override def row(columns: RecordColumns): InternalRow = {
    val row = JsonLine.plain(line, 0, line.length, columns)
    if (row != null) row else JsonLine.parsed(line, columns)
  }

  override def bytes: Array[Byte] = line

  private def isBlank(byte: Byte): Boolean = byte >= 0 && byte <= ' '

  private def check(): Unit = {
    val scan = new JsonScan(line, 0, line.length)
    if (!scan.value() || scan.next() >= 0) parse()
  }

  private def parse(): Unit = Using.resource(Json.factory.createParser(line)) { parser =>
    parser.nextToken()
    parser.skipChildren()
    JsonLine.end(parser)
  }

  private def checkEnd(): Unit =
    try check()
    catch {
      case e: JsonEOFException        => throw e
      case _: JsonProcessingException => ()
    }
}

private[record] object JsonLine {

  /** The row of the value; null if the bytes are in doubt. */
  def plain(bytes: Array[Byte], from: Int, until: Int, columns: RecordColumns): InternalRow = {
    val scan = new JsonScan(bytes, from, until)
    val row = columns.json.row(scan)
    if (row != null && scan.next() < 0) row else null
  }

  /** The row as Jackson parses it. */
  def parsed(line: Array[Byte], columns: RecordColumns): InternalRow =
    Using.resource(Json.factory.createParser(line)) { parser =>
      if (parser.nextToken() != JsonToken.START_OBJECT) throw new NoObjectException
      val row = columns.json.row(parser)
      end(parser)
      row
    }

  /** Throws if anything follows the value. */
  def end(parser: JsonParser): Unit =
    if (parser.nextToken() != null) throw new JsonParseException(parser, "a line holds more than one value")
}
