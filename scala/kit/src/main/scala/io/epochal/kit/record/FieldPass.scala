package io.epochal.kit.record

import scala.collection.mutable

import com.fasterxml.jackson.core.{JsonParseException, JsonParser, JsonToken}

/** Reads a JSON value once, and picks values from it.
  *
  * @param root
  *   the places of the values that are wanted
  */
final private[record] class FieldPass(root: FieldNode, parser: JsonParser) {
  import FieldPass._

  private val found = mutable.Map.empty[String, Option[String]]
  private val nulls = mutable.Set.empty[String]
  private val outline = mutable.ArrayBuffer.empty[(String, Option[String])]

  /** The wanted values of the JSON value that comes next. */
  def values(): Map[String, Option[String]] = {
    begin()
    walk(root)
    found.toMap
  }

  /** The wanted values of a page, which is read to its end, and an outline of its fields. */
  def all(): ScannedPage = {
    begin()
    outlined(root, "", 0)
    while (parser.nextToken() != null) {}
    ScannedPage(values = found.toMap, nulls = nulls.toSet, outline = outline.toSeq)
  }

  private def begin(): Unit =
    if (parser.nextToken() == null) throw new JsonParseException(parser, "the body is empty")

  /** As `walk`, and remembers the first fields. */
  private def outlined(node: FieldNode, path: String, depth: Int): Unit =
    if (parser.currentToken != JsonToken.START_OBJECT || outline.size >= OutlineFields || depth == OutlineDepth) {
      if (depth > 0 && outline.size < OutlineFields) outline += path -> shown(parser.currentToken)
      walk(node)
    } else {
      node.pointer.foreach(found(_) = None)
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        val name = parser.currentName
        parser.nextToken()
        val child = node.below.getOrElse(name, Nowhere)
        outlined(child, s"$path/${name.replace("~", "~0").replace("/", "~1")}", depth + 1)
      }
    }

  private def shown(token: JsonToken): Option[String] =
    Option.when(token.isScalarValue && token != JsonToken.VALUE_NULL)(parser.getText.take(OutlineText))

  /** From the first token of a value to its last. */
  private def walk(node: FieldNode): Unit = {
    val token = parser.currentToken
    node.pointer.foreach { pointer =>
      if (!token.isScalarValue) found(pointer) = None
      else if (token != JsonToken.VALUE_NULL) found(pointer) = Some(parser.getText)
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
      while (parser.nextToken() != JsonToken.END_ARRAY) {
        visit(node.below.get(i.toString))
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

  /** What is remembered of the fields around the records, for a check of what they say, and for a message. */
  private val OutlineFields = 40
  private val OutlineDepth = 3
  private val OutlineText = 200

  /** A place where nothing is wanted. */
  private val Nowhere = new FieldNode
}

/** A place in JSON: a value that is wanted, or on the way to one. */
final private[record] class FieldNode {
  val below: mutable.Map[String, FieldNode] = mutable.Map.empty
  var pointer = Option.empty[String]

  /** Those of this place and of all below it. */
  def pointers: Iterator[String] = pointer.iterator ++ below.valuesIterator.flatMap(_.pointers)

  private def at(path: List[String]): FieldNode = path match {
    case Nil          => this
    case name :: rest => below.getOrElseUpdate(name, new FieldNode).at(rest)
  }
}

private[record] object FieldNode {

  /** The root of the places that JSON Pointers name. */
  def of(pointers: Seq[String]): FieldNode = {
    val root = new FieldNode
    pointers.foreach(pointer => root.at(TokenRecords.segments(pointer)).pointer = Some(pointer))
    root
  }
}
