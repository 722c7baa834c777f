package io.epochal.spark.source.rest.page

import scala.collection.mutable

import com.fasterxml.jackson.core.{JsonParseException, JsonParser, JsonToken}

import io.epochal.spark.http.{BodyBuffer, Endpoint, Json}
import io.epochal.spark.source.rest.record.{BodyFormat, RecordCursor}

/** What an answer holds.
  *
  * @param records
  *   how many there are
  * @param from
  *   the byte of the answer at which the array begins that holds the records asked for
  * @param until
  *   the byte after that array
  * @param values
  *   the values at the pointers asked for that are neither missing nor null; an object or array is None
  * @param keys
  *   of the first and the last record, where they were asked for and there are records; None without a value
  */
final private[rest] case class ScannedAnswer(
    records: Int,
    from: Int,
    until: Int,
    values: Map[String, Option[String]],
    keys: Option[(Option[String], Option[String])] = None
)

private[rest] object ScannedAnswer {
  val nothing: ScannedAnswer = ScannedAnswer(0, 0, 0, Map.empty)
}

/** Reads an answer once, from its first byte to its last: counts the records, and picks values around them. It is proven to be
  * whole JSON then.
  *
  * @param records
  *   JSON Pointer to the array; null in its place is an empty one
  * @param pointers
  *   JSON Pointers to the values
  * @param key
  *   JSON Pointer within a record
  */
final private[rest] class AnswerScan(
    records: String,
    pointers: Seq[String],
    endpoint: Endpoint,
    key: Option[String] = None
) {
  import AnswerScan._

  private val root = new Node
  root.at(segments(records)).isRecords = true
  pointers.foreach(pointer => root.at(segments(pointer)).pointer = Some(pointer))
  private val inRecord = key.map { pointer =>
    val record = new Node
    record.at(segments(pointer)).pointer = Some(pointer)
    record
  }

  /** @param skip
    *   records at the front that are not asked for: the answer's bytes are changed, so that an array begins behind them
    * @throws EpochalException
    *   RECORDS_NOT_FOUND
    * @throws com.fasterxml.jackson.core.JsonProcessingException
    *   where the answer is no JSON
    */
  def read(buffer: BodyBuffer, skip: Long = 0): ScannedAnswer =
    if (buffer.absent) ScannedAnswer.nothing else scan(buffer, skip)

  private def scan(buffer: BodyBuffer, skip: Long): ScannedAnswer = {
    val pass = new Pass(parser(buffer, 0), skip)
    val scanned = pass.run()
    val answer = scanned.copy(keys = for {
      record <- inRecord
      (first, last) <- pass.firstAndLast
    } yield (keyOf(record, buffer, first), keyOf(record, buffer, last)))
    if (answer.from < 0) {
      // Says what is there in place of the array.
      val found = BodyFormat.Json(records).count(buffer, endpoint)
      throw new IllegalStateException(s"$found records at '$records' were not seen")
    } else if (skip > 0 && answer.records > skip) buffer.bytes(answer.from) = '['
    answer
  }

  private def parser(buffer: BodyBuffer, from: Int): JsonParser =
    Json.factory.createParser(buffer.bytes, from, buffer.length - from)

  private def keyOf(record: Node, buffer: BodyBuffer, from: Int): Option[String] =
    new Pass(parser(buffer, from), 0).pick(record).values.headOption.flatten

  final private class Pass(parser: JsonParser, skip: Long) {
    private val values = mutable.Map.empty[String, Option[String]]
    private var first = -1
    private var last = -1
    private var count = 0
    private var from = -1
    private var until = -1

    def run(): ScannedAnswer = {
      if (parser.nextToken() == null) throw new JsonParseException(parser, "the body is empty")
      walk(root)
      while (parser.nextToken() != null) {}
      ScannedAnswer(count, from, until, values.toMap)
    }

    /** The bytes at which the first and the last record begin; only where keys are asked for. */
    def firstAndLast: Option[(Int, Int)] = Option.when(first >= 0)((first, last))

    /** The values of the value that comes next. */
    def pick(node: Node): Map[String, Option[String]] = {
      parser.nextToken()
      walk(node)
      values.toMap
    }

    /** From the first token of a value to its last. */
    private def walk(node: Node): Unit = {
      val token = parser.currentToken
      node.pointer.foreach { pointer =>
        if (!token.isScalarValue) values(pointer) = None
        else if (token != JsonToken.VALUE_NULL) values(pointer) = Some(parser.getText)
      }
      if (node.isRecords && from < 0 && token == JsonToken.START_ARRAY) countRecords()
      else if (node.isRecords && from < 0 && token == JsonToken.VALUE_NULL) from = 0
      else if (node.below.isEmpty) { val _ = parser.skipChildren() }
      else if (token == JsonToken.START_OBJECT)
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
          val child = node.below.get(parser.currentName)
          parser.nextToken()
          visit(child)
        }
      else if (token == JsonToken.START_ARRAY) {
        var i = 0
        while (parser.nextToken() != JsonToken.END_ARRAY) {
          visit(node.below.get(i.toString))
          i += 1
        }
      }
    }

    private def visit(child: Option[Node]): Unit = child match {
      case Some(node) => walk(node)
      case None       => val _ = parser.skipChildren()
    }

    private def countRecords(): Unit = {
      from = at(parser.currentTokenLocation().getByteOffset)
      while (parser.nextToken() != JsonToken.END_ARRAY) {
        // The byte before a record that is not the first is a comma, or white space after one.
        if (count == skip && skip > 0) from = at(parser.currentTokenLocation().getByteOffset) - 1
        if (inRecord.nonEmpty) {
          last = at(parser.currentTokenLocation().getByteOffset)
          if (first < 0) first = last
        }
        parser.skipChildren()
        count += 1
      }
      until = at(parser.currentLocation().getByteOffset)
    }

    private def at(byte: Long): Int = {
      if (byte < 0) throw new JsonParseException(parser, "it is not in UTF-8")
      byte.toInt
    }
  }
}

private object AnswerScan {

  /** A place in the JSON on the way to what is looked for. */
  final private class Node {
    val below: mutable.Map[String, Node] = mutable.Map.empty
    var isRecords = false
    var pointer = Option.empty[String]

    def at(path: List[String]): Node = path match {
      case Nil          => this
      case name :: rest => below.getOrElseUpdate(name, new Node).at(rest)
    }
  }

  private def segments(pointer: String): List[String] = RecordCursor.segments(pointer)
}
