package io.epochal.kit.record

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Try

import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types._
import org.apache.spark.sql.{Encoders, SparkSession}

import io.epochal.core.error.Conditions
import io.epochal.kit.source.InitialOffset

/** The schema that Spark's own readers infer from a page. */
private[epochal] object SchemaInference {

  /** Runs Spark's inference over the first records of a page.
    *
    * @param place
    *   where the page came from, for errors
    * @param body
    *   with one record or more
    * @return
    *   why no schema can be inferred, or the schema
    */
  def of(format: RecordFormat, body: Body, place: String): Either[String, StructType] = {
    val records = format.open(body, place)
    val texts = Iterator
      .continually(records)
      .takeWhile(_.next())
      .take(MaxRecords)
      .map(record => new String(record.bytes, UTF_8))
      .toVector
    format match {
      // Here Spark parses numbers from texts of any length.
      case _: RecordFormat.Csv if texts.exists(hasLongNumber) =>
        Left(s"it has a number of more than $MaxDigits digits")
      case csv: RecordFormat.Csv =>
        withFields(ofCsv(texts, csv, new CsvRecords(csv.pieces(body).next(), csv, place).header))
      case _ => withFields(ofJson(texts.filter(_.startsWith("{"))))
    }
  }

  private def withFields(schema: StructType): Either[String, StructType] =
    Either.cond(schema.nonEmpty, schema, "its records have no fields")

  /** Stores the schema in the stream's part of the checkpoint; later runs reject a different one.
    *
    * @param source
    *   its name, for an error
    * @param checkpoint
    *   where the stream keeps its first offset
    * @throws EpochalException
    *   SCHEMA_CHANGED
    */
  def fix(source: String, schema: StructType, checkpoint: InitialOffset): Unit = {
    def parse(text: String) = Try(DataType.fromJson(text)).toOption.collect { case struct: StructType => struct }
    val storedSchema = parse(checkpoint.named(FileName).orElse(schema.json, fits = parse(_).contains(schema)))
    if (!storedSchema.contains(schema))
      throw Conditions.SchemaChanged(
        "format" -> source,
        "found" -> schema.toDDL,
        "expected" -> storedSchema.fold("(unreadable)")(_.toDDL))
  }

  private def ofJson(records: Seq[String]): StructType = {
    val spark = SparkSession.active
    if (records.isEmpty) new StructType() else spark.read.json(spark.createDataset(records)(Encoders.STRING)).schema
  }

  private def hasLongNumber(line: String): Boolean = {
    var digits = 0
    line.exists { c =>
      digits = if (Character.isDigit(c)) digits + 1 else 0
      digits > MaxDigits
    }
  }

  private def ofCsv(lines: Seq[String], csv: RecordFormat.Csv, header: Option[Seq[String]]): StructType = {
    val spark = SparkSession.active
    val plain = spark.read.option("inferSchema", "true").option("sep", csv.separator.toString).option("escape", "\"")
    val reader = csv.nullText.fold(plain)(plain.option("nullValue", _))
    val texts = spark.createDataset(lines)(Encoders.STRING)
    // Spark infers TIMESTAMP from times without a date.
    val types = StructType(reader.csv(texts).schema.map { field =>
      def isTime =
        reader.option("inferSchema", "false").csv(texts).where(col(field.name).rlike("^\\s*(T|\\d+:)")).head(1)
      if (field.dataType == TimestampType && isTime.nonEmpty) field.copy(dataType = StringType) else field
    })
    header.fold(types)(names => StructType(types.zip(names).map { case (field, name) => field.copy(name = name) }))
  }

  private val FileName = "inferred-schema"

  /** The number of records that inference reads. */
  private val MaxRecords = 1000
  private val MaxDigits = 1000
}
