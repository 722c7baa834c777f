package io.epochal.rest.source

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.{Try, Using}

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.{Encoders, SparkSession}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.source.InitialOffset
import io.epochal.rest.http.HttpClient
import io.epochal.rest.http.request.{BodyBuffer, HttpCounters}
import io.epochal.rest.source.paging.{ChainedPagination, RestOptions}
import io.epochal.rest.source.record.{BodyFormat, CsvCursor}

/** The schema that Spark's own readers infer from the API's first page. */
private[rest] object SchemaInference {

  /** Asks for the page, in the calling thread, and has Spark look at its records.
    *
    * @throws EpochalException
    *   SCHEMA_NOT_INFERRED, or one of the conditions of a request
    */
  def of(options: RestOptions): StructType = {
    val call = options.paging match {
      case chained: ChainedPagination => options.pageCall.of(options.endpoint, chained, None)
      case _                          => options.call(options.pagination.request(0))
    }
    Using.resource(BodyBuffer.ofPage()) { body =>
      Using.resource(new HttpClient(options.http, new HttpCounters))(_.call(call, body, first = true)(_ =>
        options.rules.format.count(body, options.endpoint))): Unit
      of(options, body)
    }
  }

  private def of(options: RestOptions, body: BodyBuffer): StructType = {
    val format = options.rules.format
    val records = format.open(body, options.endpoint)
    val texts = Iterator
      .continually(records)
      .takeWhile(_.next())
      .take(MostRecords)
      .map(record => new String(record.bytes, UTF_8))
      .toVector
    if (texts.isEmpty) throw failure(options, "it has no records")
    val schema = format match {
      case csv: BodyFormat.Csv =>
        // Spark makes numbers of texts of any length here.
        if (texts.exists(hasLongNumber)) throw failure(options, s"it has a number of more than $MostDigits digits")
        ofCsv(texts, csv, new CsvCursor(csv.pieces(body).next(), csv, options.endpoint).header)
      case _ => ofJson(texts.filter(_.startsWith("{")))
    }
    if (schema.isEmpty) throw failure(options, "its records have no fields")
    schema
  }

  /** Remembers the schema in the stream's part of the checkpoint; once it is there, another one is refused.
    *
    * @param checkpoint
    *   the directory that Spark hands the stream
    * @throws EpochalException
    *   SCHEMA_CHANGED
    */
  def fix(schema: StructType, checkpoint: String, hadoop: Configuration): Unit = {
    val text = new InitialOffset(checkpoint, hadoop, FileName).orElse(schema.json)
    val known = Try(DataType.fromJson(text)).toOption.collect { case struct: StructType => struct }
    if (!known.contains(schema))
      throw Conditions.SchemaChanged(
        "format" -> RestOptions.Format,
        "found" -> schema.toDDL,
        "expected" -> known.fold("(unreadable)")(_.toDDL))
  }

  private def ofJson(records: Seq[String]): StructType = {
    val spark = SparkSession.active
    if (records.isEmpty) new StructType() else spark.read.json(spark.createDataset(records)(Encoders.STRING)).schema
  }

  private def hasLongNumber(line: String): Boolean = {
    var digits = 0
    line.exists { c =>
      digits = if (Character.isDigit(c)) digits + 1 else 0
      digits > MostDigits
    }
  }

  private def ofCsv(lines: Seq[String], csv: BodyFormat.Csv, header: Option[Seq[String]]): StructType = {
    val spark = SparkSession.active
    val plain = spark.read.option("inferSchema", "true").option("sep", csv.separator.toString).option("escape", "\"")
    val found =
      csv.nullText.fold(plain)(plain.option("nullValue", _)).csv(spark.createDataset(lines)(Encoders.STRING)).schema
    header.fold(found)(names => StructType(found.zip(names).map { case (field, name) => field.copy(name = name) }))
  }

  private def failure(options: RestOptions, reason: String): EpochalException =
    Conditions.SchemaNotInferred("format" -> RestOptions.Format, "url" -> options.endpoint, "reason" -> reason)

  private val FileName = "inferred-schema"

  /** Records of the page that are looked at. */
  private val MostRecords = 1000
  private val MostDigits = 1000
}
