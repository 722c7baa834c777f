package io.epochal.kit.spark

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.csv.{CSVOptions, UnivocityParser}
import org.apache.spark.sql.types.{StringType, StructField, StructType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String

/** Converts texts to values of columns, as `spark.read.csv` does; a STRING column takes them unchanged.
  *
  * @param timeZone
  *   the session's, for texts without a zone
  */
final class TextColumns(columns: Seq[StructField], timeZone: String) {
  private val schema = StructType(columns)
  private val spark = new UnivocityParser(schema, new CSVOptions(Map.empty[String, String], false, timeZone))
  private val converters: Map[String, String => Any] = columns.map { field =>
    val convert: String => Any =
      if (field.dataType == StringType) UTF8String.fromString(_)
      else spark.makeConverter(field.name, field.dataType, nullable = true)
    val isMoment = field.dataType == TimestampType
    field.name -> ((text: String) =>
      if (isMoment && !TimestampText.hasDate(text)) throw new InexactValueException else convert(text))
  }.toMap

  /** The value of a column, in Spark's internal form; None if the text does not fit. */
  def value(column: String, text: String): Option[Any] =
    try Some(converters(column)(text))
    catch { case NonFatal(_) => None }
}
