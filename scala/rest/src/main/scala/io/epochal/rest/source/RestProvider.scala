package io.epochal.rest.source

import java.time.{Clock, Instant}

import scala.util.Using

import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.record.{Body, RecordReading, RecordSchema, SchemaInference}
import io.epochal.kit.source.{InitialOffset, Source, SourceProvider, SourceScan, SourceTable}
import io.epochal.kit.spark.QueryStop
import io.epochal.rest.http.HttpClient
import io.epochal.rest.http.request.HttpCounters
import io.epochal.rest.source.page.ChainPartition
import io.epochal.rest.source.paging.{ChainedPagination, RestOptions, RestPlan, RestPosition, TimeWindow}
import io.epochal.rest.source.supply.{FanOutPlan, MemberPartition, RestFrontier}

/** `format("epochal-rest")` as a source: the records of a REST API that lists them as JSON or CSV.
  *
  *   - [[RestOptions]], [[RecordSchema]]: the options, checked when the DataFrame is built
  *   - [[SchemaInference]]: infers the schema if none is given
  *   - [[Pagination]]: which request returns which records; [[RestPlan]]: which task reads which
  *   - [[ChainedPagination]]: how a page names the next one; followed by [[PageChain]]
  *   - [[TimeWindow]]: which window of time is requested; followed by [[io.epochal.rest.source.page.WindowChain]]
  *   - [[RestSource]] (driver): how many records there are, by a [[RestSupply]]: found by an [[EndSearch]], or
  *     journalled
  *   - [[FanOut]]: several sequences of requests in one stream, a [[FanOutSupply]] of supplies
  *   - [[RestReader]] (executor): pages, requested by [[PageReader]] or read by [[JournalPages]], to rows
  *   - [[RecordFormat]], [[RecordRows]]: the records of one response, and which of them become rows
  *   - [[io.epochal.rest.http.HttpClient]]: one request, with its retries, over the connections of the JVM
  */
final class RestProvider extends SourceProvider[RestOptions](RestOptions.group) {

  /** The schema that was inferred for the next table. */
  private var inferred = Option.empty[StructType]

  private val columns = new RecordSchema(RestOptions.Format)

  override protected def options(raw: Map[String, String]): Either[EpochalException, RestOptions] =
    RestOptions.read(raw)

  override protected def schema(options: RestOptions): StructType = options.schema match {
    case Some(ddl) => columns.parse(ddl).fold(throw _, identity)
    case None if options.inferSchema =>
      inferred = Some(RestProvider.inferred(options.fanOut.fold(options)(_.first)))
      inferred.get
    case None => throw Conditions.SchemaRequired("format" -> RestOptions.Format)
  }

  override protected def table(schema: StructType, options: RestOptions): Table = {
    if (options.inferSchema && !inferred.contains(schema))
      throw Conditions.OptionConflict(
        "format" -> RestOptions.Format,
        "options" -> ".schema(...), {option:inferSchema=true}",
        "suggestion" -> "Give the schema, or let it be inferred.")
    val all = columns.of(schema, options.schema, options.rules).fold(throw _, identity)
    new SourceTable(
      s"${RestOptions.Format} ${options.endpoint}",
      all,
      () => new RestScanBuilder(options, all),
      options.followed)
  }
}

private object RestProvider {

  /** Requests the first page in the calling thread and lets Spark infer the schema of its records.
    *
    * @throws EpochalException
    *   SCHEMA_INFERENCE_FAILED, or one of the conditions of a request
    */
  def inferred(options: RestOptions): StructType = {
    import options.rules.format
    val call = options.paging match {
      case chained: ChainedPagination => options.pageCall.of(options.endpoint, chained, None)
      case _                          => options.call(options.pagination.request(0))
    }
    Using.resource(Body.ofPage()) { body =>
      Using.resource(new HttpClient(options.http, new HttpCounters))(_.call(call, body, first = true)(_ =>
        format.count(body, options.place))): Unit
      SchemaInference.of(format, body, options.place).fold(reason => throw failed(options, reason), identity)
    }
  }

  private def failed(options: RestOptions, reason: String): EpochalException =
    Conditions.SchemaInferenceFailed("format" -> RestOptions.Format, "url" -> options.endpoint, "reason" -> reason)
}

/** Skips columns that a query does not use, unless they decide which records become rows. */
final private class RestScanBuilder(options: RestOptions, schema: StructType)
    extends ScanBuilder
    with SupportsPushDownRequiredColumns {
  private var needed = schema

  override def pruneColumns(required: StructType): Unit = if (options.rules.prunable) needed = required

  override def build(): Scan =
    new RestScan(options, RecordReading(needed, SparkSession.active.conf.get("spark.sql.session.timeZone")))
}

final private class RestScan(options: RestOptions, reading: RecordReading)
    extends SourceScan[RestPosition](s"${RestOptions.Format}[${options.source}]", reading.schema) {

  override protected def batch: Batch = new RestBatch(options, reading, spark)

  override protected def source(checkpoint: InitialOffset): Source[RestPosition] = {
    if (options.inferSchema) SchemaInference.fix(RestOptions.Format, reading.schema, checkpoint)
    val counters = new HttpCounters
    spark.register(counters)
    RestSource.of(options, reading, checkpoint, spark.defaultParallelism, Clock.systemUTC(), counters)
  }

  override protected def whyNoRealTime: (String, String) = {
    val (_, instead) = super.whyNoRealTime
    if (options.fanOut.nonEmpty) "with {option:partitionParams} it reads several lists" -> instead
    else
      "it finds the end of a batch by counting records, before the batch runs" -> s"{option:journal=true}, or $instead"
  }

  override def supportedCustomMetrics(): Array[CustomMetric] = RestMetrics.ofScan
}

/** A batch read: all records that the API has at planning. */
final private class RestBatch(options: RestOptions, reading: RecordReading, spark: SparkContext) extends Batch {
  private val counters = new HttpCounters
  private lazy val tasks = options.numPartitions.getOrElse(spark.defaultParallelism)
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
    if (!counters.isRegistered) spark.register(counters)
    new RestReaderFactory(options.alone, reading, counters, None)
  }
}
