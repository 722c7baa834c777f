package io.epochal.rest.source.record

import java.util.Arrays

import scala.util.Using

import com.fasterxml.jackson.core.io.JsonEOFException
import com.fasterxml.jackson.core.{JsonParseException, JsonParser, JsonProcessingException, JsonToken}
import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.kit.engine.{Examined, JsonRows}
import io.epochal.kit.json.{Json, JsonScan}

/** Steps through the lines of an answer, each of which holds one JSON value.
  *
  * A line that is not JSON is a fault of the answer, or, where `tolerant`, a record that does not fit. A last line that lacks
  * its end is a fault in any case: the answer broke off.
  */
final private[rest] class NdjsonCursor(body: Utf8Body, tolerant: Boolean) extends LineRecords[JsonRows] {

  private var line = Array.emptyByteArray
  private var begin = 0
  private var position = 0

  override def start: Int = begin

  override def next(): Boolean = {
    while (position < body.length && isBlank(body.bytes(position))) position += 1
    val more = position < body.length
    if (more) {
      begin = position
      while (position < body.length && body.bytes(position) != '\n') position += 1
      val end = if (body.bytes(position - 1) == '\r') position - 1 else position
      line = Arrays.copyOfRange(body.bytes, begin, end)
      if (tolerant && position == body.length) checkEnd()
    }
    more
  }

  override def pass(): Unit = if (!tolerant) check()

  override def row(rows: JsonRows): InternalRow = {
    val scan = new JsonScan(line, 0, line.length)
    val row = rows.row(scan)
    if (row != null && scan.next() < 0) row else parsed(rows)
  }

  override def examine(rows: JsonRows): Examined = rows.examine(line)

  override def bytes: Array[Byte] = line

  override def size: Int = line.length

  override def finish(): Unit = ()

  private def parsed(rows: JsonRows): InternalRow = Using.resource(Json.factory.createParser(line)) { parser =>
    if (parser.nextToken() != JsonToken.START_OBJECT) throw new NoObjectException
    val row = rows.row(parser)
    end(parser)
    row
  }

  private def isBlank(byte: Byte): Boolean = byte >= 0 && byte <= ' '

  private def check(): Unit = {
    val scan = new JsonScan(line, 0, line.length)
    if (!scan.value() || scan.next() >= 0) parse()
  }

  private def parse(): Unit = Using.resource(Json.factory.createParser(line)) { parser =>
    parser.nextToken()
    parser.skipChildren()
    end(parser)
  }

  private def end(parser: JsonParser): Unit =
    if (parser.nextToken() != null) throw new JsonParseException(parser, "a line holds more than one value")

  private def checkEnd(): Unit =
    try check()
    catch {
      case e: JsonEOFException        => throw e
      case _: JsonProcessingException => ()
    }
}
