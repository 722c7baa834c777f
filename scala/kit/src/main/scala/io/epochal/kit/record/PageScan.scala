package io.epochal.kit.record

import java.io.StringWriter

import scala.collection.mutable
import scala.util.Using

import com.fasterxml.jackson.core.{JsonParseException, JsonParser, JsonToken}

import io.epochal.core.error.EpochalException
import io.epochal.kit.json.Json

/** Reads a page once, from its first byte to its last: counts the records, extracts values around them, and so verifies the
  * page's format. The body is not changed.
  */
private[epochal] trait PageScan {

  /** Scans a body.
    *
    * @param skip
    *   number of records at the front that are counted and not selected
    * @throws EpochalException
    *   RECORDS_NOT_FOUND
    * @throws com.fasterxml.jackson.core.JsonProcessingException
    *   if the body is not in its format
    */
  def read(body: Body, skip: Long = 0): ScannedPage

  /** The selected records of the scanned body. A block is valid until the next call of `hasNext` or `next`, or until the body is
    * reused.
    */
  def blocks(page: ScannedPage, body: Body): Iterator[RecordBlock]
}

private[epochal] object PageScan {

  /** A scan for a format.
    *
    * @param place
    *   says in errors where pages come from
    * @param pointers
    *   JSON Pointers to the values to extract
    * @param key
    *   JSON Pointer within a record, to the value to extract from the first and the last one
    * @param nullIsEmpty
    *   whether null in place of an array of records is an empty array
    * @param json
    *   those of the pointers whose values are extracted as JSON
    */
  def of(
      format: RecordFormat,
      place: String,
      pointers: Seq[String] = Nil,
      key: Option[String] = None,
      nullIsEmpty: Boolean = false,
      json: Set[String] = Set.empty): PageScan = format match {
    case array: RecordFormat.Json    => new ArrayScan(array, place, pointers, key, nullIsEmpty, json)
    case lines: RecordFormat.OfLines => new LineScan(lines, place)
  }

  /** The values at JSON Pointers in a body, as JSON; without null. */
  def values(body: Body, pointers: Seq[String]): Map[String, String] =
    new FieldPass(FieldNode.of(pointers, pointers.toSet), body.source.parser(0)).values().collect {
      case (pointer, Some(json)) => pointer -> json
    }
}

final private[record] class LineScan(format: RecordFormat.OfLines, place: String) extends PageScan {

  /** Each piece of the body has a span, possibly without records. */
  override def read(body: Body, skip: Long): ScannedPage =
    if (body.absent) ScannedPage.nothing
    else {
      val beginning = body.piece
      format.refuse(beginning)
      var records = 0
      val spans = format
        .pieces(body)
        .map { piece =>
          val lines = format.read(piece, place)
          var span = RecordSpan(0, 0, piece.length)
          while (lines.next()) {
            lines.pass()
            if (records >= skip)
              span = span.copy(span.records + 1, if (span.records == 0) lines.start else span.from)
            records += 1
          }
          span
        }
        .toVector
      ScannedPage(records, spans)
    }

  override def blocks(page: ScannedPage, body: Body): Iterator[RecordBlock] =
    format.pieces(body).zip(page.spans.iterator).filter(_._2.records > 0).map { case (piece, span) =>
      RecordBlock(span.records, piece.bytes, span.from, span.until).behind(format.front(piece))
    }
}

/** Scans a page whose records are in a JSON array. The arguments are those of [[PageScan.of]]. */
final private[record] class ArrayScan(
    format: RecordFormat.Json,
    place: String,
    pointers: Seq[String],
    key: Option[String],
    nullIsEmpty: Boolean,
    json: Set[String]
) extends PageScan {

  private val around = FieldNode.of(pointers ++ format.arrays, json)
  private val inRecord = key.map(pointer => FieldNode.of(Seq(pointer), json))

  override def read(body: Body, skip: Long): ScannedPage =
    if (body.absent) ScannedPage.nothing
    else {
      val fields = format.shape.filterNot(_ => body.rewritten).map { shape =>
        val fields = new FieldPass(around, body.source.parser(0), shape.covers).all()
        format.prepare(body, place, nullIsEmpty)
        fields
      }
      val count = records(body, skip)
      val page = fields.fold(count)(_.copy(records = count.records, spans = count.spans, keys = count.keys))
      val nullArray = if (format.mayMiss) None else format.arrays.find(page.nulls)
      page.copy(values = page.values -- format.arrays.diff(pointers), nullArray = nullArray)
    }

  private def records(body: Body, skip: Long): ScannedPage =
    try body.file.fold(inMemory(body.piece, skip))(inFile(_, skip))
    catch {
      case missing: EpochalException =>
        new FieldPass(around, body.source.parser(0)).all(): Unit // Throws if the body is truncated.
        throw missing
    }

  override def blocks(page: ScannedPage, body: Body): Iterator[RecordBlock] = ArraySpans.blocks(body.source, page.spans)

  private def inFile(file: BodyFile, skip: Long): ScannedPage = {
    val array = new TokenRecords(file, format.array, place, nullIsEmpty)
    val arraySpans = ArraySpans.of(array, file.partBytes, skip)
    page(array, arraySpans, file).copy(spans = arraySpans.spans)
  }

  /** The spans keep the white space inside the brackets. */
  private def inMemory(piece: Piece, skip: Long): ScannedPage = {
    val array = new JsonRecords(piece, format.array, place, nullIsEmpty)
    val arraySpans = ArraySpans.of(array, Int.MaxValue, skip)
    page(array, arraySpans, piece).copy(spans = arraySpans.spans.map { span =>
      span.copy(from = if (skip == 0) array.begin else span.from, until = array.end)
    })
  }

  private def page(array: ArrayRecords, spans: ArraySpans, body: ByteSource): ScannedPage = {
    val fields = array.around(new FieldPass(around, _).all())
    fields.copy(records = spans.count, keys = spans.ends.flatMap { case (first, last) => keys(body, first, last) })
  }

  private def keys(body: ByteSource, first: Int, last: Int): Option[(Option[String], Option[String])] =
    inRecord.map(record => (keyOf(record, body, first), keyOf(record, body, last)))

  /** Only of an object or array: after a number Jackson would read past the record. */
  private def keyOf(record: FieldNode, body: ByteSource, from: Int): Option[String] = {
    val first = body.slice(from, from + 1)(0)
    if (first != '{' && first != '[') None
    else new FieldPass(record, body.parser(from)).values().headOption.flatMap(_._2)
  }
}

/** Reads a JSON value once, and extracts values from it.
  *
  * @param root
  *   the paths of the values to extract
  * @param isHidden
  *   whether the outline leaves out a pointer
  */
final private[record] class FieldPass(root: FieldNode, parser: JsonParser, isHidden: String => Boolean = _ => false) {
  import FieldPass._

  private val texts = mutable.Map.empty[String, Option[String]]
  private val nulls = mutable.Set.empty[String]
  private val outline = mutable.ArrayBuffer.empty[(String, Option[String])]

  /** The selected values of the next JSON value. */
  def values(): Map[String, Option[String]] = {
    begin()
    walk(root)
    texts.toMap
  }

  /** The selected values of a page, which is read to its end, and an outline of its fields. */
  def all(): ScannedPage = {
    begin()
    outlineNode(root, "", 0)
    while (parser.nextToken() != null) {}
    ScannedPage(values = texts.toMap, nulls = nulls.toSet, outline = outline.toSeq)
  }

  private def begin(): Unit =
    if (parser.nextToken() == null) throw new JsonParseException(parser, "the body is empty")

  /** Like `walk`, and records the first fields. */
  private def outlineNode(node: FieldNode, path: String, depth: Int): Unit =
    if (isHidden(path) || node.json) walk(node)
    else if (parser.currentToken != JsonToken.START_OBJECT || outline.size >= OutlineFields || depth == OutlineDepth) {
      if (depth > 0 && outline.size < OutlineFields) outline += path -> display(parser.currentToken)
      walk(node)
    } else {
      node.pointer.foreach(texts(_) = None)
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        val name = parser.currentName
        parser.nextToken()
        val child = node.below.getOrElse(name, Nowhere)
        outlineNode(child, s"$path/${name.replace("~", "~0").replace("/", "~1")}", depth + 1)
      }
    }

  private def display(token: JsonToken): Option[String] =
    Option.when(token.isScalarValue && token != JsonToken.VALUE_NULL)(parser.getText.take(OutlineText))

  /** From the first token of a value to its last. */
  private def walk(node: FieldNode): Unit =
    if (node.json && parser.currentToken != JsonToken.VALUE_NULL) texts(node.pointer.get) = Some(text())
    else walkText(node)

  /** The value as JSON. */
  private def text(): String = {
    val json = new StringWriter
    var depth = 0
    Using.resource(Json.factory.createGenerator(json)) { copy =>
      copy.copyCurrentEventExact(parser)
      if (parser.currentToken.isStructStart) depth = 1
      while (depth > 0) {
        parser.nextToken()
        copy.copyCurrentEventExact(parser)
        depth += (if (parser.currentToken.isStructStart) 1 else if (parser.currentToken.isStructEnd) -1 else 0)
      }
    }
    json.toString
  }

  private def walkText(node: FieldNode): Unit = {
    val token = parser.currentToken
    node.pointer.foreach { pointer =>
      if (!token.isScalarValue) texts(pointer) = None
      else if (token != JsonToken.VALUE_NULL) texts(pointer) = Some(parser.getText)
    }
    if (token == JsonToken.VALUE_NULL) nulls ++= node.pointers
    if (node.below.isEmpty) { val _ = parser.skipChildren() }
    else if (token == JsonToken.START_OBJECT)
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        val child = node.below.get(parser.currentName)
        parser.nextToken()
        visit(child)
      }
    else if (token == JsonToken.START_ARRAY) {
      var i = 0
      val last = node.below.get(Last)
      while (parser.nextToken() != JsonToken.END_ARRAY) {
        last.foreach(texts --= _.pointers)
        visit(node.below.get(i.toString).orElse(last))
        i += 1
      }
    }
  }

  private def visit(child: Option[FieldNode]): Unit = child match {
    case Some(node) => walk(node)
    case None       => val _ = parser.skipChildren()
  }
}

private object FieldPass {

  /** The maximum number of outlined fields, which are checked for errors and shown in messages. */
  private val OutlineFields = 40
  private val OutlineDepth = 3
  private val OutlineText = 200

  /** The step to the last element of an array. */
  private val Last = "-1"

  /** A path with no selected values. */
  private val Nowhere = new FieldNode
}

/** A node of the paths in JSON: a selected value, or a step towards one. */
final private[record] class FieldNode {
  val below: mutable.Map[String, FieldNode] = mutable.Map.empty
  var pointer = Option.empty[String]

  /** Whether the value is extracted as JSON; then none below it is. */
  var json = false

  /** The pointers of this node and of all nodes below it. */
  def pointers: Iterator[String] = pointer.iterator ++ below.valuesIterator.flatMap(_.pointers)

  private def at(path: List[String]): FieldNode = path match {
    case Nil          => this
    case name :: rest => below.getOrElseUpdate(name, new FieldNode).at(rest)
  }
}

private[record] object FieldNode {

  /** The root of the tree of these JSON Pointers.
    *
    * @param json
    *   those whose values are extracted as JSON
    */
  def of(pointers: Seq[String], json: Set[String] = Set.empty): FieldNode = {
    val root = new FieldNode
    pointers.foreach { pointer =>
      val node = root.at(TokenRecords.segments(pointer))
      node.pointer = Some(pointer)
      node.json = json(pointer)
    }
    root
  }
}
