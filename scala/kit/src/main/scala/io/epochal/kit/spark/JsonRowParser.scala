package io.epochal.kit.spark

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import scala.util.control.NonFatal
import scala.util.{Try, Using}

import com.fasterxml.jackson.core.{JsonParser, JsonProcessingException, JsonToken}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.json.JSONOptions
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.json.{Json, JsonScan}

/** Parses JSON records into rows. Types, formats and the session's settings mean the same as in `spark.read.json`: Spark's own
  * parser reads every value, except plain ones whose result is certain ([[PlainValue]]). The loop over a record's fields is
  * ours.
  *
  * Uses only API that Spark has from 4.0 to 4.3: the two constructors and `makeConverter`. Create one for each task, in the
  * task: Spark's settings are read here.
  *
  * @param timeZone
  *   the session's, for texts without a zone
  * @param apart
  *   columns that are not fields of a record; they stay NULL
  * @param unknown
  *   which of these takes the fields without a column, as a JSON object
  */
final class JsonRowParser(
    schema: StructType,
    timeZone: String,
    apart: Set[String] = Set.empty,
    unknown: Option[String] = None
) {
  import JsonRowParser._

  private val spark =
    new ColumnParser(schema, new JSONOptions(Map.empty[String, String], timeZone, "_corrupt_record"))
  private val converters: Array[JsonParser => AnyRef] = schema.fields.map { field =>
    if (apart(field.name)) spark.makeConverter(field.dataType) else spark.converterOf(field)
  }
  private val plain: Array[PlainValue] = schema.fields.map(field => PlainValue.of(field.dataType))
  private val names: Array[String] = schema.fieldNames.map(name => if (apart(name)) null else name)
  private val quoted: Array[Array[Byte]] = names.map(JsonRowParser.quoted)
  private val columns = new java.util.HashMap[UTF8String, Integer]
  names.zipWithIndex.foreach { case (name, column) =>
    if (name != null) columns.put(UTF8String.fromString(name), column)
  }
  private val unknownColumn = unknown.fold(-1)(schema.fieldNames.indexOf(_))
  private val unknownFields = if (unknownColumn < 0) null else new UnknownFields
  private val present = new Array[Boolean](names.length)

  /** The columns whose field was in no record so far, not even as null; and the fields of structs that were in none of
    * their objects, as `customer.name`.
    */
  def missing: Seq[String] =
    names.indices.filter(column => names(column) != null && !present(column)).map(names(_)) ++
      spark.structs.flatMap(_.missing)

  /** The first names of a record's fields, with those within structs, for a message; empty if none can be needed. */
  def namesOf(record: => Array[Byte]): String =
    if (missing.isEmpty && spark.structs.isEmpty) "" else shownNames(record, spark.structs.map(_.path).toSet)

  /** The record as a row, which is valid as long as the scanned bytes. Of duplicate fields the last counts.
    *
    * @param scan
    *   is at the record's first byte, and afterwards after its last one
    * @return
    *   null: the record is in doubt, and the position of `scan` is undefined
    * @throws Exception
    *   of many classes, if a value does not fit its column
    */
  def row(scan: JsonScan): InternalRow = {
    val values = new Array[Any](names.length)
    if (unknownFields == null && scan.next() == '{' && fields(scan, values)) new GenericInternalRow(values) else null
  }

  /** The record as a separate row. Of duplicate fields the last counts.
    *
    * @param parser
    *   is at the record's opening brace, and afterwards at its closing one
    * @throws Exception
    *   of many classes, if the record does not fit the schema or is not JSON
    */
  def row(parser: JsonParser): InternalRow = {
    if (unknownFields != null) unknownFields.clear()
    val values = new Array[Any](names.length)
    val exact = new ExactParser(parser)
    var nextColumn = 0
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      val column = columnOf(parser.currentName, nextColumn)
      parser.nextToken()
      if (column == Absent) without(parser)
      else {
        values(column) = converters(column)(exact)
        present(column) = true
        nextColumn = column + 1
      }
    }
    if (unknownFields != null) values(unknownColumn) = unknownFields.take()
    new GenericInternalRow(values)
  }

  /** Parses the record again, value by value, to describe what does not fit: the column, its type, and the kind of value found.
    * Slow: each value gets its own parser, so that one misfit does not affect the others.
    *
    * @param record
    *   exactly its bytes, in UTF-8
    */
  def examine(record: Array[Byte]): Examined = {
    if (unknownFields != null) unknownFields.clear()
    val values = new Array[Any](names.length)
    val reason =
      if (!isJson(record)) Some("it is not JSON")
      else
        parsing(record) { parser =>
          if (parser.nextToken() == JsonToken.START_OBJECT) fitting(parser, values)
          else Some(s"it is ${Json.describe(parser.currentToken)}, not an object")
        }.flatten
    if (unknownFields != null) values(unknownColumn) = unknownFields.take()
    Examined(new GenericInternalRow(values), reason)
  }

  /** Parses the fields into `values`.
    *
    * @return
    *   false: in doubt
    */
  private def fields(scan: JsonScan, values: Array[Any]): Boolean = {
    var byte = scan.pass()
    var sure = byte == '"' || byte == '}'
    var nextColumn = 0
    while (sure && byte != '}') {
      val column = nameAt(scan, nextColumn)
      sure = column != InDoubt && scan.next() == ':'
      if (sure) {
        scan.pass(): Unit
        sure = if (column == Absent) scan.value() else value(scan, column, values)
        if (column != Absent) {
          present(column) = true
          nextColumn = column + 1
        }
      }
      if (sure) {
        byte = scan.next()
        sure = byte == ',' || byte == '}'
        if (byte == ',') {
          byte = scan.pass()
          sure = byte == '"'
        }
      }
    }
    if (sure) scan.at += 1
    sure
  }

  /** The column of the next name. */
  private def nameAt(scan: JsonScan, candidate: Int): Int =
    if (candidate < quoted.length && quoted(candidate) != null && scan.take(quoted(candidate))) candidate
    else {
      val from = scan.at + 1
      if (!scan.string() || scan.escaped) InDoubt
      else {
        val column = columns.get(UTF8String.fromBytes(scan.bytes, from, scan.at - 1 - from))
        if (column == null) Absent else column
      }
    }

  private def value(scan: JsonScan, column: Int, values: Array[Any]): Boolean = {
    val from = scan.at
    val plainly = plain(column).read(scan)
    if (plainly ne PlainValue.Other) {
      values(column) = plainly
      true
    } else {
      scan.at = from
      val sure = scan.value()
      if (sure) values(column) = convert(converters(column), Arrays.copyOfRange(scan.bytes, from, scan.at))
      sure
    }
  }

  private def convert(converter: JsonParser => AnyRef, value: Array[Byte]): AnyRef =
    Using.resource(Json.factory.createParser(value)) { parser =>
      parser.nextToken()
      converter(new ExactParser(parser))
    }

  /** Takes the values that fit, with NULL in place of the others.
    *
    * @return
    *   the first misfit
    */
  private def fitting(parser: JsonParser, values: Array[Any]): Option[String] = {
    var first = Option.empty[String]
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      val name = parser.currentName
      val column = columnOf(name, 0)
      parser.nextToken()
      if (column == Absent) without(parser)
      else {
        val (kind, value) = (schema(column).dataType, bytes(parser))
        val fit = attempt(kind, value)
        values(column) = fit.orNull
        present(column) = true
        if (fit.isEmpty) first = first.orElse(Some(misfit(name, kind, value)))
      }
    }
    first
  }

  private def attempt(kind: DataType, value: Array[Byte]): Option[AnyRef] =
    try Some(convert(spark.makeConverter(kind), value))
    catch { case NonFatal(_) => None }

  private def misfit(place: String, kind: DataType, value: Array[Byte]): String = {
    val inner = kind match {
      case struct: StructType =>
        members(value, JsonToken.START_OBJECT).flatMap { case (name, member) =>
          struct.fields.find(_.name == name).map(field => (s"$place.$name", field.dataType, member))
        }
      case ArrayType(element, _) =>
        members(value, JsonToken.START_ARRAY).map { case (_, member) => (s"$place.element", element, member) }
      case MapType(_, of, _) =>
        members(value, JsonToken.START_OBJECT).map { case (_, member) => (s"$place.value", of, member) }
      case _ => Nil
    }
    inner.find { case (_, of, member) => attempt(of, member).isEmpty } match {
      case Some((deeper, of, member)) => misfit(deeper, of, member)
      case None => s"the column '$place' is ${kind.sql}, and the record has ${describe(value)} there that does not fit"
    }
  }

  private def without(parser: JsonParser): Unit =
    if (unknownFields != null) unknownFields.add(parser)
    else { val _ = parser.skipChildren() }

  /** Fields usually come in the order of the columns. */
  private def columnOf(name: String, candidate: Int): Int =
    if (candidate < names.length && name == names(candidate)) candidate
    else {
      val column = columns.get(UTF8String.fromString(name))
      if (column == null) Absent else column
    }
}

private[kit] object JsonRowParser {
  private val NamesShown = 20
  private val LongestName = 60

  private def shownNames(record: Array[Byte], openColumns: Set[String]): String = {
    val names = namesIn(record, "", openColumns)
    (if (names.sizeIs > NamesShown) names.take(NamesShown) :+ "…" else names).mkString(", ")
  }

  /** The names in an object, or in the first one of an array.
    *
    * @param openColumns
    *   paths of the fields whose names are listed in place of their own
    */
  private def namesIn(value: Array[Byte], prefix: String, openColumns: Set[String]): Seq[String] =
    (value +: members(value, JsonToken.START_ARRAY, 1).map(_._2))
      .flatMap(members(_, JsonToken.START_OBJECT, NamesShown + 1))
      .flatMap { case (name, member) =>
        val path = prefix + name
        val within = if (openColumns(path)) namesIn(member, s"$path.", openColumns) else Nil
        if (within.nonEmpty) within
        else Seq(prefix + name.take(LongestName).map(c => if (Character.isISOControl(c)) '?' else c))
      }

  /** No column of that name. */
  private val Absent = -1
  private val InDoubt = -2

  /** A name in its usual JSON form; null if it needs escapes. */
  private def quoted(name: String): Array[Byte] =
    if (name == null || name.exists(c => c < ' ' || c == '"' || c == '\\')) null else s"\"$name\"".getBytes(UTF_8)

  private def parsing[A](text: Array[Byte])(body: JsonParser => A): Option[A] =
    try Some(Using.resource(Json.factory.createParser(text))(body))
    catch { case _: JsonProcessingException => None }

  /** Copies the current value; the parser is then at its last token. */
  private def bytes(parser: JsonParser): Array[Byte] = {
    val begin = parser.currentTokenLocation()
    parser.skipChildren()
    parser.finishToken()
    val text = begin.contentReference().getRawContent.asInstanceOf[Array[Byte]]
    Arrays.copyOfRange(text, begin.getByteOffset.toInt, parser.currentLocation().getByteOffset.toInt)
  }

  /** The members of an object, or of an array (without names); empty for other values. */
  private def members(value: Array[Byte], kind: JsonToken, most: Int = Int.MaxValue): Seq[(String, Array[Byte])] =
    parsing(value) { parser =>
      if (parser.nextToken() != kind) Vector.empty
      else
        Iterator
          .continually(parser.nextToken())
          .takeWhile(token => token != JsonToken.END_OBJECT && token != JsonToken.END_ARRAY)
          .map { token =>
            val name = parser.currentName
            if (token == JsonToken.FIELD_NAME) parser.nextToken()
            (name, bytes(parser))
          }
          .take(most)
          .toVector
    }.getOrElse(Nil)

  private def describe(value: Array[Byte]): String = parsing(value) { parser =>
    parser.nextToken() match {
      case JsonToken.VALUE_STRING if parser.getTextLength == 0            => "an empty string"
      case JsonToken.VALUE_STRING if ExactParser.isBroken(parser.getText) => "a string with half of a surrogate pair"
      case JsonToken.VALUE_NUMBER_INT                                     => "a whole number"
      case JsonToken.VALUE_NUMBER_FLOAT if isTooLarge(parser)             => "a number that is too large"
      case JsonToken.VALUE_NUMBER_FLOAT                                   => "a number with a fraction"
      case other                                                          => Json.describe(other)
    }
  }.getOrElse("something")

  private def isTooLarge(parser: JsonParser): Boolean = Try(new ExactParser(parser).getDoubleValue).isFailure

  /** Whether the text is one value, with nothing after it. */
  private def isJson(text: Array[Byte]): Boolean = parsing(text) { parser =>
    parser.nextToken()
    parser.skipChildren()
    parser.nextToken() == null
  }.contains(true)
}
