package io.epochal.spark.source.rest.page

import scala.collection.mutable

import com.fasterxml.jackson.core.{JsonParseException, JsonParser, JsonToken}

import io.epochal.core.error.EpochalException
import io.epochal.spark.http.{BodyBuffer, Endpoint}
import io.epochal.spark.json.Json
import io.epochal.spark.source.rest.record.{RecordCursor, TokenRecords}

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

  private def scan(buffer: BodyBuffer, skip: Long): ScannedAnswer =
    try step(new RecordCursor(buffer, records, endpoint), buffer, skip)
    catch {
      case missing: EpochalException =>
        val pass = new Pass(parser(buffer, 0))
        val values = pass.all()
        if (pass.isNull) ScannedAnswer(0, 0, 0, values) else throw missing
    }

  private def step(cursor: RecordCursor, buffer: BodyBuffer, skip: Long): ScannedAnswer = {
    if (!cursor.isInPlace) throw new JsonParseException(null: JsonParser, "it is not in UTF-8")
    var count = 0
    var from = cursor.begin
    var first = -1
    var last = -1
    while (cursor.next()) {
      last = cursor.start
      if (first < 0) first = last
      // The byte before a record that is not the first is a comma, or white space after one.
      if (count == skip && skip > 0) from = last - 1
      cursor.pass()
      count += 1
    }
    val values = cursor.around(parser => new Pass(parser).all())
    val keys =
      inRecord.filter(_ => count > 0).map(record => (keyOf(record, buffer, first), keyOf(record, buffer, last)))
    if (skip > 0 && count > skip) buffer.bytes(from) = '['
    ScannedAnswer(count, from, cursor.end, values, keys)
  }

  private def parser(buffer: BodyBuffer, from: Int): JsonParser =
    Json.factory.createParser(buffer.bytes, from, buffer.length - from)

  private def keyOf(record: Node, buffer: BodyBuffer, from: Int): Option[String] =
    new Pass(parser(buffer, from)).pick(record).values.headOption.flatten

  final private class Pass(parser: JsonParser) {
    private val values = mutable.Map.empty[String, Option[String]]
    private var recordsAreNull = false

    /** The values of the value that comes next. */
    def pick(node: Node): Map[String, Option[String]] = {
      if (parser.nextToken() == null) throw new JsonParseException(parser, "the body is empty")
      walk(node)
      values.toMap
    }

    /** Those of the answer, which is read to its end. */
    def all(): Map[String, Option[String]] = {
      val found = pick(root)
      while (parser.nextToken() != null) {}
      found
    }

    /** Whether null stands where the records are looked for. */
    def isNull: Boolean = recordsAreNull

    /** From the first token of a value to its last. */
    private def walk(node: Node): Unit = {
      val token = parser.currentToken
      node.pointer.foreach { pointer =>
        if (!token.isScalarValue) values(pointer) = None
        else if (token != JsonToken.VALUE_NULL) values(pointer) = Some(parser.getText)
      }
      if (node.isRecords && token == JsonToken.VALUE_NULL) recordsAreNull = true
      if (node.below.isEmpty) { val _ = parser.skipChildren() }
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

  private def segments(pointer: String): List[String] = TokenRecords.segments(pointer)
}
