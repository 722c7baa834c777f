package io.epochal.kit.spark

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.csv.{CSVOptions, UnivocityParser}
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.{DecimalType, StringType, StructType, TimestampType}

import io.epochal.core.error.Plural

/** Parses CSV into rows. Spark's own converters parse the texts, with the session's settings, as `spark.read.csv` does; a
  * STRING column takes them unchanged.
  *
  * Uses only API that Spark has from 4.0 to 4.3: the two constructors and `makeConverter`. Create one for each task, in the
  * task.
  *
  * @param apart
  *   columns that are not fields; they stay NULL
  * @param unknown
  *   which of these takes the fields without a column, as a JSON object of texts
  */
final class CsvRowParser(schema: StructType, timeZone: String, apart: Set[String], unknown: Option[String]) {

  /** Columns that are not fields may have types that CSV cannot represent. */
  private val readable = StructType(
    schema.map(field => if (apart(field.name)) field.copy(dataType = StringType) else field))
  private val spark = new UnivocityParser(readable, new CSVOptions(Map.empty[String, String], false, timeZone))
  private val converters: Array[String => Any] =
    readable.fields.map(field => spark.makeConverter(field.name, field.dataType, nullable = true))
  private val asIs = schema.fields.map(_.dataType == StringType)
  private val decimal = schema.fields.map(_.dataType.isInstanceOf[DecimalType])
  private val moment = schema.fields.map(_.dataType == TimestampType)
  private val unknownColumn = unknown.fold(-1)(schema.fieldNames.indexOf(_))
  private val unknownFields = if (unknownColumn < 0) null else new UnknownFields
  final private val NamesShown = 12
  private val fieldNames = schema.fieldNames.filterNot(apart)

  /** The layout for a header.
    *
    * @param header
    *   the names of the fields; None: they are the columns in order
    * @return
    *   what is wrong with the header, or the layout
    */
  def layout(header: Option[Seq[String]]): Either[String, CsvLayout] = {
    val names = header.getOrElse(fieldNames.toSeq)
    fieldNames.find(name => names.count(_ == name) != 1) match {
      case Some(name) if names.contains(name) => Left(s"has the column '$name' twice")
      case Some(name) =>
        Left(s"has no column '$name'; its columns are ${names.take(NamesShown).mkString(", ")}")
      case None =>
        val columns = names.map(name => if (apart(name)) -1 else schema.fieldNames.indexOf(name))
        Right(new CsvLayout(columns.toArray, names.toArray))
    }
  }

  /** The line as a row.
    *
    * @throws Exception
    *   of many classes, if the line does not fit
    */
  def row(line: CsvFields, layout: CsvLayout): InternalRow = {
    if (!line.isSplit || line.count != layout.columns.length) throw new IllegalArgumentException
    if (unknownFields != null) unknownFields.clear()
    val values = new Array[Any](converters.length)
    var field = 0
    while (field < layout.columns.length) {
      put(line, layout, field, values)
      field += 1
    }
    if (unknownFields != null) values(unknownColumn) = unknownFields.take()
    new GenericInternalRow(values)
  }

  /** Parses the line again, to describe what does not fit. */
  def examine(line: CsvFields, layout: CsvLayout): Examined = {
    if (unknownFields != null) unknownFields.clear()
    val values = new Array[Any](converters.length)
    val reason =
      if (!line.isSplit) Some("a quoted field is followed by more text")
      else if (line.count != layout.columns.length)
        Some(s"it has ${Plural.of(line.count.toLong, "field")}, not ${layout.columns.length}")
      else
        layout.columns.indices.filterNot(fits(line, layout, _, values)).headOption.map { field =>
          if (!line.isUtf8(field)) s"its field '${layout.names(field)}' is not in UTF-8"
          else {
            val column = schema(layout.columns(field))
            s"the column '${column.name}' is ${column.dataType.sql}, and the record has a text there that does not fit"
          }
        }
    if (unknownFields != null) values(unknownColumn) = unknownFields.take()
    Examined(new GenericInternalRow(values), reason)
  }

  private def put(line: CsvFields, layout: CsvLayout, field: Int, values: Array[Any]): Unit = {
    val column = layout.columns(field)
    if (!line.isUtf8(field)) throw new IllegalArgumentException
    if (column < 0) { if (unknownFields != null) unknownFields.add(layout.names(field), line.text(field)) }
    else if (asIs(column)) values(column) = line.utf8(field)
    else {
      val text = line.text(field)
      if (text != null && decimal(column) && !DecimalText.isBounded(text)) throw new InexactValueException
      if (text != null && moment(column) && !TimestampText.hasDate(text)) throw new InexactValueException
      values(column) = if (text == null) null else exact(text, converters(column)(text))
    }
  }

  /** The value, unless it is infinite because the number exceeds the range of its type. */
  private def exact(text: String, value: Any): Any = value match {
    case double: Double if double.isInfinite && text.exists(ExactParser.isDigit) => throw new InexactValueException
    case float: Float if float.isInfinite && text.exists(ExactParser.isDigit)    => throw new InexactValueException
    case _                                                                       => value
  }

  private def fits(line: CsvFields, layout: CsvLayout, field: Int, values: Array[Any]): Boolean =
    try {
      put(line, layout, field, values)
      true
    } catch { case NonFatal(_) => false }
}
