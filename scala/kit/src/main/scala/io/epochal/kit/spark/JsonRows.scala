package io.epochal.kit.spark

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import scala.util.Using

import com.fasterxml.jackson.core.{JsonParser, JsonToken}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.json.{JSONOptions, JacksonParser}
import org.apache.spark.sql.types.{DataType, DecimalType, StructType}
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.json.{Json, JsonScan}

/** Rows from JSON. Types, formats and the session's settings mean what they mean in `spark.read.json`: every value is read by
  * Spark's own parser, but where it is written so plainly that there is no doubt what that makes of it ([[PlainValue]]).
  * The loop over a record's fields is ours.
  *
  * What is used of Spark exists from 4.0 to 4.3: the two constructors and `makeConverter`. Make one for each task, in the
  * task: Spark's settings are read here.
  *
  * @param timeZone
  *   the session's, for texts that name none
  * @param apart
  *   columns that are no fields of a record; they are left NULL
  * @param unknown
  *   the column of these that takes the fields without a column, as a JSON object
  */
final class JsonRows(
    schema: StructType,
    timeZone: String,
    apart: Set[String] = Set.empty,
    unknown: Option[String] = None
) {
  import JsonRows._

  private val spark =
    new BoundedParser(schema, new JSONOptions(Map.empty[String, String], timeZone, "_corrupt_record"))
  private val converters: Array[JsonParser => AnyRef] = schema.fields.map(field => spark.makeConverter(field.dataType))
  private val plain: Array[PlainValue] = schema.fields.map(field => PlainValue.of(field.dataType))
  private val names: Array[String] = schema.fieldNames.map(name => if (apart(name)) null else name)
  private val quoted: Array[Array[Byte]] = names.map(JsonRows.quoted)
  private val columns = new java.util.HashMap[UTF8String, Integer]
  names.zipWithIndex.foreach { case (name, column) =>
    if (name != null) columns.put(UTF8String.fromString(name), column)
  }
  private val unknownColumn = unknown.fold(-1)(schema.fieldNames.indexOf(_))
  private val unknownFields = if (unknownColumn < 0) null else new UnknownFields

  /** The record as a row, which is good as long as the scanned bytes are. Of two fields with one name the last counts.
    *
    * @param scan
    *   stands at the record's first byte, and afterwards behind its last one
    * @return
    *   null: the record is in doubt, and `scan` stands anywhere
    * @throws Exception
    *   of many classes, where a value does not fit its column
    */
  def row(scan: JsonScan): InternalRow = {
    val values = new Array[Any](names.length)
    if (unknownFields == null && scan.next() == '{' && fields(scan, values)) new GenericInternalRow(values) else null
  }

  /** The record as a row of its own. Of two fields with one name the last counts.
    *
    * @param parser
    *   stands at the record's opening brace, and afterwards at its closing one
    * @throws Exception
    *   of many classes, where the record does not fit the schema or is no JSON
    */
  def row(parser: JsonParser): InternalRow = {
    if (unknownFields != null) unknownFields.clear()
    val values = new Array[Any](names.length)
    val exact = new ExactParser(parser)
    var expected = 0
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      val column = columnOf(parser.currentName, expected)
      parser.nextToken()
      if (column == Absent) without(parser)
      else {
        values(column) = converters(column)(exact)
        expected = column + 1
      }
    }
    if (unknownFields != null) values(unknownColumn) = unknownFields.take()
    new GenericInternalRow(values)
  }

  /** The record once more, with what is wrong with it.
    *
    * @param record
    *   its bytes and no others, in UTF-8
    */
  def examine(record: Array[Byte]): Examined = {
    if (unknownFields != null) unknownFields.clear()
    val values = new Array[Any](names.length)
    val reason = new JsonMisfits(exactly).of(record) { (name, parser) =>
      val column = columnOf(name, 0)
      if (column == Absent) without(parser)
      Option.when(column >= 0)(schema(column).dataType -> ((value: AnyRef) => values(column) = value))
    }
    if (unknownFields != null) values(unknownColumn) = unknownFields.take()
    Examined(new GenericInternalRow(values), reason)
  }

  /** @return
    *   false: in doubt
    */
  private def fields(scan: JsonScan, values: Array[Any]): Boolean = {
    var byte = scan.pass()
    var sure = byte == '"' || byte == '}'
    var expected = 0
    while (sure && byte != '}') {
      val column = nameAt(scan, expected)
      sure = column != InDoubt && scan.next() == ':'
      if (sure) {
        scan.pass(): Unit
        sure = if (column == Absent) scan.value() else value(scan, column, values)
        if (column != Absent) expected = column + 1
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

  /** The column of the name that stands here. */
  private def nameAt(scan: JsonScan, expected: Int): Int =
    if (expected < quoted.length && quoted(expected) != null && scan.take(quoted(expected))) expected
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
    val found = plain(column).read(scan)
    if (found ne PlainValue.Other) {
      values(column) = found
      true
    } else {
      scan.at = from
      val sure = scan.value()
      if (sure) values(column) = converted(column, Arrays.copyOfRange(scan.bytes, from, scan.at))
      sure
    }
  }

  private def converted(column: Int, value: Array[Byte]): AnyRef =
    Using.resource(Json.factory.createParser(value)) { parser =>
      parser.nextToken()
      converters(column)(new ExactParser(parser))
    }

  private def exactly(kind: DataType): JsonParser => AnyRef = {
    val converter = spark.makeConverter(kind)
    parser => converter(new ExactParser(parser))
  }

  private def without(parser: JsonParser): Unit =
    if (unknownFields != null) unknownFields.add(parser)
    else { val _ = parser.skipChildren() }

  /** Fields mostly come in the order of the columns. */
  private def columnOf(name: String, expected: Int): Int =
    if (expected < names.length && name == names(expected)) expected
    else {
      val column = columns.get(UTF8String.fromString(name))
      if (column == null) Absent else column
    }
}

private object JsonRows {

  /** Spark's parser, which refuses numbers that DECIMAL columns of any depth are never meant to hold. */
  final private class BoundedParser(schema: StructType, options: JSONOptions)
      extends JacksonParser(schema, options, false) {

    override def makeConverter(kind: DataType): JsonParser => AnyRef = {
      val converter = super.makeConverter(kind)
      kind match {
        case _: DecimalType =>
          parser => {
            if (parser.currentToken == JsonToken.FIELD_NAME)
              parser.nextToken(): Unit // Of a field within a struct or map.
            if (!DecimalText.isBounded(parser)) throw new InexactValueException
            converter(parser)
          }
        case _ => converter
      }
    }
  }

  /** No column of that name. */
  private val Absent = -1
  private val InDoubt = -2

  /** A name as it is mostly written; null where it has to be written in another way. */
  private def quoted(name: String): Array[Byte] =
    if (name == null || name.exists(c => c < ' ' || c == '"' || c == '\\')) null else s"\"$name\"".getBytes(UTF_8)
}
