package io.epochal.rest.source

import java.time.Instant
import java.util

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.connector.read.{
  Batch,
  InputPartition,
  PartitionReaderFactory,
  Scan,
  ScanBuilder,
  SupportsPushDownRequiredColumns
}
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.error.Conditions
import io.epochal.kit.access.PlanRedaction
import io.epochal.kit.engine.{QueryStop, SessionHadoop}
import io.epochal.rest.http.request.HttpCounters
import io.epochal.rest.source.fan.{FanOutPlan, MemberPartition}
import io.epochal.rest.source.paging.{ChainedPagination, RestOptions, RestPlan, TimeWindow}
import io.epochal.rest.source.record.RestReading
import io.epochal.rest.source.supply.RestFrontier
import io.epochal.rest.source.task.ChainPartition

/** `format("epochal-rest")`: the records of a REST API that lists them as JSON or CSV.
  *
  *   - [[RestOptions]], [[RestSchema]]: what the user asks for, checked when the DataFrame is built
  *   - [[SchemaInference]]: the schema, where none is given
  *   - [[Pagination]]: which request gives which records; [[RestPlan]]: which task reads which
  *   - [[ChainedPagination]]: how a page says what comes after it; [[PageChain]] follows
  *   - [[TimeWindow]]: which stretch of time is asked for; [[io.epochal.rest.source.window.WindowChain]] follows
  *   - [[RestStream]] (driver): how many records there are, by a [[RestSupply]]: found by [[EndFinder]], or journalled
  *   - [[FanOut]]: several sequences of requests in one stream, a [[FanOutSupply]] of supplies
  *   - [[RestReader]] (executor): pages, asked for by [[PageReader]] or read by [[JournalPages]], to rows
  *   - [[BodyFormat]], [[Records]]: the records of one answer; [[RecordRules]]: which of them give rows, and which columns
  *   - [[io.epochal.rest.http.HttpClient]]: one request, with its retries, over the connections of the JVM
  */
final class RestProvider extends TableProvider with DataSourceRegister {

  override def shortName(): String = RestOptions.Format

  /** What this provider inferred for the table that it is asked for next. */
  private var inferred = Option.empty[StructType]

  /** Asked only where the reader was given no schema. */
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = {
    val ours = RestProvider.options(options.asCaseSensitiveMap)
    ours.schema match {
      case Some(ddl) => RestSchema.parse(ddl).fold(throw _, identity)
      case None if ours.inferSchema =>
        PlanRedaction.hide(RestOptions.group, options)
        inferred = Some(SchemaInference.of(ours.fanOut.fold(ours)(_.first)))
        inferred.get
      case None => throw Conditions.SchemaRequired("format" -> RestOptions.Format)
    }
  }

  override def supportsExternalMetadata(): Boolean = true

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = {
    val options = RestProvider.options(properties)
    PlanRedaction.hide(RestOptions.group, properties)
    if (options.inferSchema && !inferred.contains(schema))
      throw Conditions.OptionsConflict(
        "format" -> RestOptions.Format,
        "options" -> ".schema(...), inferSchema=true",
        "suggestion" -> "Give the schema, or let it be inferred.")
    new RestTable(options, RestSchema.of(schema, options.schema, options.rules).fold(throw _, identity))
  }
}

private object RestProvider {
  def options(raw: util.Map[String, String]): RestOptions =
    RestOptions.read(raw.asScala.toMap).fold(throw _, identity)
}

final private class RestTable(options: RestOptions, columnsGiven: StructType) extends Table with SupportsRead {

  override def name(): String = s"${RestOptions.Format} ${options.endpoint}"

  override def columns(): Array[Column] =
    columnsGiven.map(f => Column.create(f.name, f.dataType, f.nullable)).toArray

  override def schema(): StructType = columnsGiven

  override def capabilities(): util.Set[TableCapability] =
    util.EnumSet.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ)

  override def newScanBuilder(ignored: CaseInsensitiveStringMap): ScanBuilder =
    new RestScanBuilder(options, columnsGiven)
}

/** Columns that a query does not use are passed over in the answers, unless it depends on them which records give rows. */
final private class RestScanBuilder(options: RestOptions, schema: StructType)
    extends ScanBuilder
    with SupportsPushDownRequiredColumns {
  private var needed = schema

  override def pruneColumns(required: StructType): Unit = if (options.rules.prunable) needed = required

  override def build(): Scan =
    new RestScan(options, RestReading(needed, SparkSession.active.conf.get("spark.sql.session.timeZone")))
}

final private class RestScan(options: RestOptions, reading: RestReading) extends Scan {
  private lazy val batch = new RestBatch(options, reading)

  override def readSchema(): StructType = reading.schema

  /** Shown in plans and in every progress. */
  override def description(): String = s"${RestOptions.Format}[${options.source}]"

  /** Spark asks for it each time that it plans the scan: the API is asked once. */
  override def toBatch: Batch = batch

  override def toMicroBatchStream(checkpoint: String): MicroBatchStream = QueryStop.guard {
    if (options.inferSchema) SchemaInference.fix(reading.schema, checkpoint, SessionHadoop.configuration)
    RestStream(options, reading, checkpoint)
  }

  override def supportedCustomMetrics(): Array[CustomMetric] = RestMetrics.ofScan
}

/** The batch read: all records that the API has when it is planned. */
final private class RestBatch(options: RestOptions, reading: RestReading) extends Batch {
  private val counters = new HttpCounters
  private lazy val tasks = options.numPartitions.getOrElse(SparkSession.active.sparkContext.defaultParallelism)
  private lazy val partitions = options.fanOut.fold(of(options, tasks)) { fanOut =>
    val members = fanOut.table.map(fanOut.member(_).fold(throw _, identity))
    val split = FanOutPlan.split(members.size, tasks)
    val parts = members.flatMap(member => of(member, split).map(MemberPartition(member, _)))
    FanOutPlan.group(parts, options.http.politeness.budget, tasks)
  }

  override def planInputPartitions(): Array[InputPartition] = QueryStop.guard(partitions)

  private def of(options: RestOptions, tasks: Int): Array[InputPartition] = options.paging match {
    case windows: TimeWindow  => Array(ChainPartition(Instant.now().minus(windows.lag)))
    case _: ChainedPagination => Array(ChainPartition(Instant.now()))
    case _ =>
      val records = Using.resource(new RestFrontier(options, counters))(_.exists(0, Long.MaxValue))
      RestPlan.partitions(options, 0, records, tasks)
  }

  override def createReaderFactory(): PartitionReaderFactory = {
    if (!counters.isRegistered) SparkSession.active.sparkContext.register(counters)
    new RestReaderFactory(options.alone, reading, counters, None)
  }
}
