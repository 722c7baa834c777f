package io.epochal.kit.record

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.core.io.JsonStringEncoder
import com.fasterxml.jackson.core.{JsonParseException, JsonToken}
import com.fasterxml.jackson.databind.node.ArrayNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.json.Json

/** Where the records of a JSON body are, if they are not simply the elements of one array. The body is rewritten once, as an
  * array of the records, whose own bytes stay unchanged; it is counted, read and journalled in that form.
  *
  * @param places
  *   a body must have all of them
  * @param alternative
  *   whether it must have only one of them, and the first one that it has counts
  */
final private[epochal] case class RecordShape(
    kind: RecordShape.Kind,
    places: Seq[RecordPlace],
    alternative: Boolean = false
) {

  /** Whether a pointer leads to the records, or into them. */
  private[record] def covers(pointer: String): Boolean = {
    val path = TokenRecords.segments(pointer)
    places.exists { one =>
      path.sizeIs >= one.path.size && one.path.zip(path).forall { case (here, name) => here == name || here == "*" }
    }
  }
}

/** @param path
  *   the segments of a JSON Pointer; `*` stands for each element or field
  * @param part
  *   the segments of a JSON Pointer within each element, to the record
  */
final private[epochal] case class RecordPlace(path: List[String], part: List[String]) {
  def pointer: String = path.map(name => s"/${name.replace("~", "~0").replace("/", "~1")}").mkString
}

private[epochal] object RecordPlace {
  def of(pointer: String, part: String = ""): RecordPlace =
    RecordPlace(TokenRecords.segments(pointer), TokenRecords.segments(part))
}

private[epochal] object RecordShape {
  sealed trait Kind extends Serializable

  case object Elements extends Kind

  case object Single extends Kind

  /** The fields of an object, whose names become the last field of each record. */
  final case class Fields(keyColumn: String) extends Kind

  /** Arrays of values.
    *
    * @param columns
    *   JSON Pointer to their names: an array of texts, or of objects with the field `name`
    * @param names
    *   their names, without that pointer
    */
  final case class Rows(columns: Option[String], names: Seq[String] = Nil) extends Kind
}

/** Rewrites one body. */
final private[record] class Reshaping(
    format: RecordFormat.Json,
    shape: RecordShape,
    source: ByteSource,
    place: String,
    nullIsEmpty: Boolean,
    out: Body
) {
  import RecordShape._
  import Reshaping._

  private val root = new Node
  shape.places.foreach(one => root.at(one.path).place = Some(one))
  private val parser = source.parser(0)
  private var records = 0
  private var hits = Set.empty[RecordPlace]
  private var wrong = Option.empty[(String, String)]

  /** The names of the values of a row, as the beginnings of fields. */
  private lazy val names = shape.kind match {
    case Rows(columns, names) => columns.fold(names)(namesAt).map(field).toIndexedSeq
    case _                    => IndexedSeq.empty[String]
  }

  private val key = shape.kind match {
    case Fields(column) => field(column)
    case _              => ""
  }

  /** @throws io.epochal.core.error.EpochalException
    *   RECORDS_NOT_FOUND
    * @throws com.fasterxml.jackson.core.JsonProcessingException
    *   if the body is not JSON
    */
  def write(): Unit = {
    if (parser.nextToken() == null) throw new JsonParseException(parser, "the body is empty")
    out.append("[")
    walk(root, "", inList = false)
    while (parser.nextToken() != null) {} // A truncated body is a different error.
    val missing = shape.places.filterNot(hits)
    val lacks = if (shape.alternative) missing == shape.places else missing.nonEmpty
    wrong
      .orElse(Option.when(lacks && !format.mayMiss)(missing.head.pointer -> "missing"))
      .foreach { case (at, what) => throw notFound(at, what) }
    out.append("]")
  }

  /** From the first token of a value to its last.
    *
    * @param inList
    *   below a wildcard: not all elements need to have records
    */
  private def walk(node: Node, at: String, inList: Boolean): Unit = (node.place, parser.currentToken) match {
    case (Some(_), _) if shape.alternative && hits.nonEmpty => parser.skipChildren(): Unit
    case (Some(here), _) =>
      hits += here
      visit(here.part, at, inList)
    case (None, JsonToken.START_OBJECT | JsonToken.START_ARRAY) =>
      val all = node.below.get("*")
      var members = 0
      eachMember { name =>
        members += 1
        node.below.get(name).orElse(all) match {
          case Some(child) => walk(child, s"$at/$name", inList || all.nonEmpty)
          case None        => parser.skipChildren(): Unit
        }
      }
      if (members == 0) all.foreach(hits ++= _.places)
    case (None, JsonToken.VALUE_NULL) if format.mayMiss || inList => ()
    case (None, token) if !inList => wrong = wrong.orElse(Some(at -> Json.describe(token)))
    case _                        => ()
  }

  /** Moves to each value of an object or array. */
  private def eachMember(value: String => Unit): Unit = {
    val end = if (parser.currentToken == JsonToken.START_OBJECT) JsonToken.END_OBJECT else JsonToken.END_ARRAY
    var i = 0
    while (parser.nextToken() != end) {
      val name = if (end == JsonToken.END_ARRAY) i.toString else parser.currentName
      if (end == JsonToken.END_OBJECT) parser.nextToken(): Unit
      i += 1
      value(name)
    }
  }

  private def visit(part: List[String], at: String, inList: Boolean): Unit = (shape.kind, parser.currentToken) match {
    case (_, JsonToken.VALUE_NULL) if nullIsEmpty || format.mayMiss || inList => ()
    case (Single, JsonToken.START_OBJECT)                                     => add(span(part))
    case (Elements, JsonToken.START_ARRAY)                                    => eachMember(_ => add(span(part)))
    case (_: Rows, JsonToken.START_ARRAY)                                     => eachMember(_ => row(span(part)))
    case (_: Fields, JsonToken.START_OBJECT) => eachMember(name => addKey(name, span(part)))
    case (_, token) =>
      parser.skipChildren(): Unit
      wrong = wrong.orElse(Some(at -> Json.describe(token)))
  }

  private def next(): Unit = {
    if (records > 0) out.append(",")
    records += 1
  }

  private def add(record: Span): Unit = {
    next()
    if (record == Absent) out.append("null") else out.append(source, record.from, record.until)
  }

  /** Only an object can have the key. */
  private def addKey(name: String, record: Span): Unit = {
    val bytes = source.slice(record.from, record.until)
    if (bytes.headOption.forall(_ != '{')) add(record)
    else {
      next()
      out.append(bytes, 0, bytes.length - 1)
      val isEmpty = (1 until bytes.length - 1).forall(i => bytes(i) >= 0 && bytes(i) <= ' ')
      out.append(s"${if (isEmpty) "" else ","}$key\"${quote(name)}\"}")
    }
  }

  /** A row with more values than names, or an element that is no row, stays unchanged and does not fit. */
  private def row(record: Span): Unit = {
    val bytes = source.slice(record.from, record.until)
    val values = if (bytes.nonEmpty && bytes(0) == '[') elements(bytes) else Vector.empty
    if (values.isEmpty || values.sizeIs > names.size) add(record)
    else {
      next()
      values.indices.foreach { i =>
        out.append((if (i == 0) "{" else ",") + names(i))
        out.append(bytes, values(i).from, values(i).until - values(i).from)
      }
      out.append("}")
    }
  }

  private def elements(array: Array[Byte]): Vector[Span] = {
    val values = new TokenRecords(new Piece(array, array.length), RecordFormat.Json(""), place)
    Iterator
      .continually(values)
      .takeWhile(_.next())
      .map { value =>
        val size = value.size
        Span(value.start, value.start + size)
      }
      .toVector
  }

  /** Skips a value.
    *
    * @return
    *   the position of the part at the path in it
    */
  private def span(path: List[String]): Span = path match {
    case Nil =>
      val from = parser.currentTokenLocation().getByteOffset.toInt
      parser.skipChildren()
      parser.finishToken()
      Span(from, parser.currentLocation().getByteOffset.toInt)
    case step :: rest =>
      var member = Absent
      if (parser.currentToken.isStructStart)
        eachMember(name => if (name == step) member = span(rest) else parser.skipChildren(): Unit)
      member
  }

  private def namesAt(pointer: String): Seq[String] =
    new FieldPass(FieldNode.of(Seq(pointer), Set(pointer)), source.parser(0))
      .values()
      .get(pointer)
      .flatten
      .flatMap(json => namesOf(mapper.readTree(json)))
      .getOrElse(throw notFound(pointer, "no array of names"))

  private def notFound(at: String, what: String): EpochalException = {
    val problem = s"${if (at.isEmpty) "the response" else s"'$at'"} is $what"
    val places = shape.places.map(_.pointer).mkString(",")
    Conditions.RecordsNotFound("url" -> place, "pointer" -> places, "found" -> problem, "array" -> "/data/items")
  }
}

private object Reshaping {

  /** The bytes `from` to before `until`. */
  final private case class Span(from: Int, until: Int)
  private val Absent = Span(0, 0)

  final private class Node {
    val below: mutable.Map[String, Node] = mutable.Map.empty
    var place = Option.empty[RecordPlace]

    def at(path: List[String]): Node = path match {
      case Nil          => this
      case name :: rest => below.getOrElseUpdate(name, new Node).at(rest)
    }

    def places: Iterator[RecordPlace] = place.iterator ++ below.valuesIterator.flatMap(_.places)
  }

  private val mapper = new ObjectMapper(Json.trees)

  private def quote(text: String): String = new String(JsonStringEncoder.getInstance().quoteAsString(text))

  private def field(name: String): String = s"\"${quote(name)}\":"

  /** None: there is no name in some element. */
  private def namesOf(array: JsonNode): Option[Seq[String]] = array match {
    case list: ArrayNode =>
      val texts = list.elements().asScala.map(one => if (one.isObject) one.path("name") else one).toVector
      Option.when(texts.nonEmpty && texts.forall(_.isTextual))(texts.map(_.textValue))
    case _ => None
  }
}
