package io.epochal.rest.source.page

import scala.collection.mutable

import com.fasterxml.jackson.core.{JsonParseException, JsonParser, JsonToken}

import io.epochal.core.error.EpochalException
import io.epochal.kit.json.Json
import io.epochal.rest.http.request.{BodyBuffer, Endpoint}
import io.epochal.rest.source.record.{
  AnswerPart,
  BodyProblem,
  FileArray,
  RecordCursor,
  ScannedAnswer,
  ScannedFields,
  TokenRecords,
  Utf8Body
}

/** Of an answer whose records stand in an array of JSON.
  *
  * @param records
  *   JSON Pointer to the array
  * @param pointers
  *   JSON Pointers to the values
  * @param key
  *   JSON Pointer within a record
  * @param nullIsEmpty
  *   whether null in the array's place is an array without records
  * @param mayMiss
  *   whether nothing is one, too
  */
final private[rest] class ArrayScan(
    records: String,
    pointers: Seq[String],
    endpoint: Endpoint,
    key: Option[String] = None,
    nullIsEmpty: Boolean = true,
    mayMiss: Boolean = false
) extends AnswerScan {
  import ArrayScan._

  private val root = new Node
  root.at(segments(records)).isRecords = true
  pointers.foreach(pointer => root.at(segments(pointer)).pointer = Some(pointer))
  private val inRecord = key.map { pointer =>
    val record = new Node
    record.at(segments(pointer)).pointer = Some(pointer)
    record
  }

  override def blocks(scanned: ScannedAnswer, answer: Answer): Iterator[RecordBlock] = answer.body.file match {
    case None =>
      scanned.parts.iterator.map(part =>
        RecordBlock(part.records, answer.body.bytes, part.from, part.until, answer.from))
    case Some(file) =>
      FileArray.pieces(file, scanned.parts).zip(scanned.parts.iterator).map { case (piece, part) =>
        RecordBlock(part.records, piece.bytes, 0, piece.length, answer.from)
      }
  }

  override def read(buffer: BodyBuffer, skip: Long, take: Long): ScannedAnswer =
    if (buffer.absent) ScannedAnswer.nothing else scan(buffer, skip, take)

  private def scan(buffer: BodyBuffer, skip: Long, take: Long): ScannedAnswer = {
    val body = Utf8Body.of(buffer)
    if (!body.isInPlace) throw new BodyProblem("it is not in UTF-8")
    try
      buffer.file match {
        case None       => step(new RecordCursor(body, records, endpoint), buffer, skip, take)
        case Some(file) => inParts(new FileArray(file, records, endpoint, skip, take), buffer)
      }
    catch {
      case missing: EpochalException =>
        val pass = new Pass(parser(buffer, 0))
        val fields = pass.all()
        val empty = nullIsEmpty && pass.isNull || mayMiss && TokenRecords.missing(parser(buffer, 0), records)
        if (empty) ScannedAnswer.nothing.around(fields) else throw missing
    }
  }

  private def inParts(array: FileArray, buffer: BodyBuffer): ScannedAnswer = {
    val found = array.ends.flatMap { case (first, last) => keys(buffer, first, last) }
    ScannedAnswer(array.records, array.parts, Map.empty, found).around(array.around(new Pass(_).all()))
  }

  private def step(cursor: RecordCursor, buffer: BodyBuffer, skip: Long, take: Long): ScannedAnswer = {
    var count = 0
    var from = cursor.begin
    var behind = -1
    var first = -1
    var last = -1
    while (cursor.next()) {
      last = cursor.start
      if (first < 0) first = last
      // The byte before a record that is not the first is a comma, or white space after one.
      if (count == skip && skip > 0) from = last - 1
      if (count - skip == take) behind = last
      cursor.pass()
      count += 1
    }
    val fields = cursor.around(new Pass(_).all())
    val found = if (count > 0) keys(buffer, first, last) else None
    if (skip > 0 && count > skip) buffer.bytes(from) = '['
    val until = if (behind < 0) cursor.end else closed(buffer, behind)
    val part = Option.when(count > skip)(AnswerPart(math.min(count - skip, take).toInt, from, until))
    ScannedAnswer(count, part.toList, Map.empty, found).around(fields)
  }

  /** Ends the array before a record.
    *
    * @return
    *   the byte behind the array
    */
  private def closed(buffer: BodyBuffer, record: Int): Int = {
    var comma = record - 1
    while (buffer.bytes(comma) != ',') comma -= 1
    buffer.bytes(comma) = ']'
    comma + 1
  }

  private def parser(buffer: BodyBuffer, from: Int): JsonParser =
    buffer.file.fold(Json.factory.createParser(buffer.bytes, from, buffer.length - from))(FileArray.parser(_, from))

  private def keys(buffer: BodyBuffer, first: Int, last: Int): Option[(Option[String], Option[String])] =
    inRecord.map(record => (keyOf(record, buffer, first), keyOf(record, buffer, last)))

  /** Jackson reads a number to what follows it, which is the array's there. */
  private def keyOf(record: Node, buffer: BodyBuffer, from: Int): Option[String] = {
    val first = buffer.file.fold(buffer.bytes(from).toInt)(file => file.stream(from, from + 1).read())
    if (first != '{' && first != '[') None
    else new Pass(parser(buffer, from)).pick(record).values.headOption.flatten
  }

  final private class Pass(parser: JsonParser) {
    private val values = mutable.Map.empty[String, Option[String]]
    private val nulls = mutable.Set.empty[String]
    private val outline = mutable.ArrayBuffer.empty[(String, Option[String])]
    private var recordsAreNull = false

    /** The values of the value that comes next. */
    def pick(node: Node): Map[String, Option[String]] = {
      begin()
      walk(node)
      values.toMap
    }

    /** Those of the answer, which is read to its end. */
    def all(): ScannedFields = {
      begin()
      outlined(root, "", 0)
      while (parser.nextToken() != null) {}
      ScannedFields(values.toMap, nulls.toSet, outline.toSeq)
    }

    private def begin(): Unit =
      if (parser.nextToken() == null) throw new JsonParseException(parser, "the body is empty")

    /** As `walk`, and remembers the first fields. */
    private def outlined(node: Node, path: String, depth: Int): Unit =
      if (parser.currentToken != JsonToken.START_OBJECT || outline.size >= OutlineFields || depth == OutlineDepth) {
        if (depth > 0 && outline.size < OutlineFields) outline += path -> shown(parser.currentToken)
        walk(node)
      } else {
        node.pointer.foreach(values(_) = None)
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
          val name = parser.currentName
          parser.nextToken()
          val child = node.below.getOrElse(name, Nowhere)
          outlined(child, s"$path/${name.replace("~", "~0").replace("/", "~1")}", depth + 1)
        }
      }

    private def shown(token: JsonToken): Option[String] =
      Option.when(token.isScalarValue && token != JsonToken.VALUE_NULL)(parser.getText.take(OutlineText))

    /** Whether null stands where the records are looked for. */
    def isNull: Boolean = recordsAreNull

    /** From the first token of a value to its last. */
    private def walk(node: Node): Unit = {
      val token = parser.currentToken
      node.pointer.foreach { pointer =>
        if (!token.isScalarValue) values(pointer) = None
        else if (token != JsonToken.VALUE_NULL) values(pointer) = Some(parser.getText)
      }
      if (token == JsonToken.VALUE_NULL) nulls ++= node.pointers
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

private object ArrayScan {

  /** What is remembered of the fields around the records, for a check of what they say, and for a message. */
  private val OutlineFields = 40
  private val OutlineDepth = 3
  private val OutlineText = 200

  /** A place that nothing is looked for at. */
  private val Nowhere = new Node

  /** A place in the JSON on the way to what is looked for. */
  final private class Node {
    val below: mutable.Map[String, Node] = mutable.Map.empty
    var isRecords = false
    var pointer = Option.empty[String]

    /** Those of this place and of all below it. */
    def pointers: Iterator[String] = pointer.iterator ++ below.valuesIterator.flatMap(_.pointers)

    def at(path: List[String]): Node = path match {
      case Nil          => this
      case name :: rest => below.getOrElseUpdate(name, new Node).at(rest)
    }
  }

  private def segments(pointer: String): List[String] = TokenRecords.segments(pointer)
}
