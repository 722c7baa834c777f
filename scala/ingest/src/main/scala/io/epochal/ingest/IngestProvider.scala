package io.epochal.ingest

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.{Batch, Scan, ScanBuilder, SupportsPushDownRequiredColumns}
import org.apache.spark.sql.types.{StringType, StructField, StructType}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.record.{LoneRecordOptions, RecordReading, RecordSchema}
import io.epochal.kit.source.{InitialOffset, Source, SourceProvider, SourceScan, SourceTable}

/** `format("epochal-ingest")`: records that clients send. Nothing is acknowledged before it is in a journal in the query's checkpoint,
  * and synced.
  *
  *   - [[IngestOptions]], [[IngestRecords]]: what the user asks for, checked when the DataFrame is built
  *   - [[IngestSource]] (driver): the journal, the intake and the listener of a stream; [[IngestSupply]]: its rows
  *   - [[io.epochal.ingest.intake.JournalIntake]]: group commit; [[io.epochal.ingest.tcp.TcpListener]]: lines
  *   - [[IngestReader]] (executor): records of the journal to rows; [[IngestTail]]: without an end
  *
  * Columns of text: `value STRING`; with a format, those of the schema. Then, in both cases: `receivedAt TIMESTAMP`; `remote STRING`,
  * address and port of the client; `stream STRING`, empty where the client names none; `headers MAP<STRING, STRING>`, NULL where the
  * protocol has none.
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
    val layout = options.records match {
      case None if schema == IngestProvider.text => IngestLayout(schema, None)
      case None =>
        throw Conditions.SchemaUnsupported(
          "format" -> IngestOptions.Format,
          "columns" -> IngestProvider.text.toDDL,
          "schema" -> schema.toDDL)
      case Some(records) =>
        val rules = records.rules(schema)
        IngestLayout(columns.of(schema, options.schema, rules).fold(throw _, identity), Some(rules))
    }
    IngestProvider.table(options, layout)
  }
}

object IngestProvider {

  /** The columns of text. */
  val text: StructType = StructType(StructField("value", StringType) +: IngestRecords.Origin)

  private[ingest] def table(options: IngestOptions, layout: IngestLayout): Table =
    new SourceTable(
      IngestOptions.Format,
      layout.schema,
      () => new IngestScanBuilder(options, layout),
      continuous = true)
}

/** Columns that a query does not use are left out, unless it depends on them which records give rows. */
final private class IngestScanBuilder(options: IngestOptions, layout: IngestLayout)
    extends ScanBuilder
    with SupportsPushDownRequiredColumns {
  private var needed = layout.schema

  override def pruneColumns(required: StructType): Unit = if (layout.rules.forall(_.prunable)) needed = required

  override def build(): Scan = {
    val timeZone = SparkSession.active.conf.get("spark.sql.session.timeZone")
    new IngestScan(options, layout, RecordReading(needed, timeZone))
  }
}

final private class IngestScan(options: IngestOptions, layout: IngestLayout, reading: RecordReading)
    extends SourceScan[IngestPosition](s"${IngestOptions.Format}[${options.source}]", reading.schema) {

  override protected def batch: Batch = throw Conditions.ModeUnsupported(
    "format" -> IngestOptions.Format,
    "mode" -> "be read as a batch",
    "reason" -> "records come for as long as the query runs",
    "suggestion" -> "Use spark.readStream."
  )

  override protected def source(checkpoint: InitialOffset): Source[IngestPosition] =
    IngestSource.start(options, layout.rules, reading, checkpoint, spark.defaultParallelism)
}
