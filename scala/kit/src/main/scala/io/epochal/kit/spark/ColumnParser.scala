package io.epochal.kit.spark

import com.fasterxml.jackson.core.{JsonParser, JsonToken}
import org.apache.spark.sql.catalyst.json.{JSONOptions, JacksonParser}
import org.apache.spark.sql.types.{DataType, DecimalType, StructField, StructType, TimestampType}

/** Spark's parser of JSON values. At any depth it also rejects excessive numbers for DECIMAL columns, and times without a date
  * for TIMESTAMP columns; and it knows which fields of the structs within columns it has read.
  */
final private[spark] class ColumnParser(schema: StructType, options: JSONOptions)
    extends JacksonParser(schema, options, false) {
  import ColumnParser._

  private var nestedStructs = Vector.empty[Struct]

  // Of the converter that is made next: its place (null: not within a column), and the struct whose field it is for (null:
  // none). Spark's constructor, which runs first, makes converters too.
  private var place: String = _
  private var parent: Struct = _

  /** The structs within columns. */
  def structs: Seq[Struct] = nestedStructs

  def converterOf(column: StructField): JsonParser => AnyRef = {
    place = column.name
    try makeConverter(column.dataType)
    finally place = null
  }

  /** Spark calls it for a struct's fields in their order. */
  override def makeConverter(kind: DataType): JsonParser => AnyRef = {
    val (outer, before) = (parent, place)
    val field = if (outer == null) -1 else outer.nextField()
    if (outer != null) place = outer.pathOf(field)
    val own = kind match {
      case struct: StructType if place != null => new Struct(place, struct.fieldNames)
      case _                                   => null
    }
    if (own != null) nestedStructs :+= own
    parent = own
    val converter = boundedConverter(kind, super.makeConverter(kind))
    parent = outer
    place = before
    if (own == null && outer == null) converter
    else { parser =>
      if (outer != null) outer.present(field) = true
      val value = converter(parser)
      if (own != null && value != null) own.seen = true
      value
    }
  }

  private def boundedConverter(kind: DataType, converter: JsonParser => AnyRef): JsonParser => AnyRef = kind match {
    case _: DecimalType =>
      parser => {
        if (parser.currentToken == JsonToken.FIELD_NAME)
          parser.nextToken(): Unit // Skips the name of a field within a struct or map.
        if (!DecimalText.isBounded(parser)) throw new InexactValueException
        converter(parser)
      }
    case TimestampType =>
      parser => {
        if (parser.currentToken == JsonToken.FIELD_NAME) parser.nextToken(): Unit
        if (parser.currentToken == JsonToken.VALUE_STRING && !TimestampText.hasDate(parser.getText))
          throw new InexactValueException
        converter(parser)
      }
    case _ => converter
  }
}

private[spark] object ColumnParser {

  /** A struct within a column, at any depth, and which of its fields were read so far, be it as null.
    *
    * @param path
    *   as `customer.address`
    */
  final class Struct(val path: String, fields: Array[String]) {
    val present = new Array[Boolean](fields.length)

    /** Whether an object was read in its place. */
    var seen = false

    private var fieldsMade = 0

    /** The number of the field whose converter is made next. */
    def nextField(): Int = {
      fieldsMade += 1
      fieldsMade - 1
    }

    def pathOf(field: Int): String = s"$path.${fields(field)}"

    /** The fields that were in none of the objects. */
    def missing: Seq[String] = if (seen) fields.indices.filterNot(present(_)).map(pathOf) else Nil
  }
}
