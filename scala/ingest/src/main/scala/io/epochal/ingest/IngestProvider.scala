package io.epochal.ingest

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.{Batch, Scan, ScanBuilder, SupportsPushDownRequiredColumns}
import org.apache.spark.sql.types._

import io.epochal.core.error.EpochalException
import io.epochal.kit.record.{LoneRecordOptions, RecordReading, RecordRules, RecordSchema}
import io.epochal.kit.source.{InitialOffset, Source, SourceProvider, SourceScan, SourceTable}

/** `format("epochal-ingest")`: records that clients send. A record is acknowledged only after it is synced to a journal in the
  * query's checkpoint.
  *
  *   - [[IngestOptions]]: the options, validated when the DataFrame is built
  *   - [[IngestSource]] (driver): the journal, the intake and the listener of a stream
  *   - [[io.epochal.ingest.intake.JournalIntake]]: group commit; [[io.epochal.ingest.tcp.TcpListener]]: lines;
  *     [[io.epochal.ingest.http.HttpListener]]: requests
  *   - [[IngestReader]] (executor): converts journal records to rows
  *
  * Columns: `value STRING` for text, otherwise those of the schema; then the origin of the record: `receivedAt TIMESTAMP`;
  * `remote STRING`, the client's address and port; `stream STRING`, empty if the client names none; `headers MAP<STRING, STRING>`,
  * NULL if the protocol has no headers.
  */
final class IngestProvider extends SourceProvider[IngestOptions](IngestOptions.group) {

  private val columns = new RecordSchema(IngestOptions.Format)

  override protected def options(raw: Map[String, String]): Either[EpochalException, IngestOptions] =
    IngestOptions.read(raw)

  override protected def schema(options: IngestOptions): StructType = options.records match {
    case None => IngestProvider.text
    case Some(_) =>
      val ddl = options.schema.getOrElse(throw LoneRecordOptions.lacksSchema(IngestOptions.Format))
      columns.parse(ddl).fold(throw _, identity)
  }

  override protected def table(schema: StructType, options: IngestOptions): Table = {
    val rules = options.records.map { records =>
      // A declared column that has the name of an origin column is read from the record.
      val origin = IngestProvider.Origin.filterNot(column => schema.fieldNames.contains(column.name))
      records.copy(origin = origin)
    }
    val all = rules match {
      case Some(text) => columns.of(schema, options.schema, text).fold(throw _, identity)
      case None =>
        requireSchema(IngestProvider.text, schema)
        schema
    }
    new SourceTable(IngestOptions.Format, all, () => new IngestScanBuilder(options, all, rules), continuous = true)
  }
}

object IngestProvider {

  /** The columns that describe the origin of a record. */
  val Origin: Seq[StructField] = Seq(
    StructField("receivedAt", TimestampType),
    StructField("remote", StringType),
    StructField("stream", StringType),
    StructField("headers", MapType(StringType, StringType)))

  /** Schema of `format=text`. */
  val text: StructType = StructType(StructField("value", StringType) +: Origin)
}

/** Prunes columns, unless unused ones decide which records become rows. */
final private class IngestScanBuilder(options: IngestOptions, schema: StructType, rules: Option[RecordRules])
    extends ScanBuilder
    with SupportsPushDownRequiredColumns {
  private var output = schema

  override def pruneColumns(columns: StructType): Unit = if (rules.forall(_.prunable)) output = columns

  override def build(): Scan =
    new IngestScan(options, rules, RecordReading(output, SparkSession.active.conf.get("spark.sql.session.timeZone")))
}

final private class IngestScan(options: IngestOptions, rules: Option[RecordRules], reading: RecordReading)
    extends SourceScan[IngestPosition](s"${IngestOptions.Format}[${options.source}]", reading.schema) {

  override protected def batch: Batch = throw IngestOptions.group
    .unsupported("be read as a batch", "records come for as long as the query runs", "Use spark.readStream.")

  override protected def source(checkpoint: InitialOffset): Source[IngestPosition] =
    IngestSource.of(options, rules, reading, checkpoint, spark.defaultParallelism)
}
