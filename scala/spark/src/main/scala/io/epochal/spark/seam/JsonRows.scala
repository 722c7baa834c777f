package io.epochal.spark.seam

import com.fasterxml.jackson.core.{JsonParser, JsonToken}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.json.{JSONOptions, JacksonParser}
import org.apache.spark.sql.types.StructType

/** Rows from JSON. Every value is read by Spark's own parser: types, formats and the session's settings mean what they mean
  * in `spark.read.json`. The loop over a record's fields is ours: Spark's works out the columns' defaults for each record
  * anew, which takes a third of its time.
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

  private val spark =
    new JacksonParser(schema, new JSONOptions(Map.empty[String, String], timeZone, "_corrupt_record"), false)
  private val converters: Array[JsonParser => AnyRef] = schema.fields.map(field => spark.makeConverter(field.dataType))
  private val names: Array[String] = schema.fieldNames.map(name => if (apart(name)) null else name)
  private val columns = new java.util.HashMap[String, Integer]
  names.zipWithIndex.foreach { case (name, column) => if (name != null) columns.put(name, column) }
  private val unknownColumn = unknown.fold(-1)(schema.fieldNames.indexOf(_))
  private val unknownFields = if (unknownColumn < 0) null else new UnknownFields

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
    var expected = 0
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      val column = columnOf(parser.currentName, expected)
      parser.nextToken()
      if (column < 0) without(parser)
      else {
        values(column) = converters(column)(parser)
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
    val reason = new JsonMisfits(spark.makeConverter).of(record) { (name, parser) =>
      val column = columnOf(name, 0)
      if (column < 0) without(parser)
      Option.when(column >= 0)(schema(column).dataType -> ((value: AnyRef) => values(column) = value))
    }
    if (unknownFields != null) values(unknownColumn) = unknownFields.take()
    Examined(new GenericInternalRow(values), reason)
  }

  private def without(parser: JsonParser): Unit =
    if (unknownFields != null) unknownFields.add(parser)
    else { val _ = parser.skipChildren() }

  /** Fields mostly come in the order of the columns. */
  private def columnOf(name: String, expected: Int): Int =
    if (expected < names.length && name == names(expected)) expected
    else {
      val column = columns.get(name)
      if (column == null) -1 else column
    }
}
