package io.epochal.rest.source

import java.time.{Clock, Instant}

import scala.util.Using

import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.{Conditions, EpochalException, Plural, Redaction}
import io.epochal.core.option.SourceOptions
import io.epochal.kit.record.{RecordReading, SchemaInference}
import io.epochal.kit.source.journal.{FeedRows, JournalledSource}
import io.epochal.kit.source.{InitialOffset, PollBounds, PollBudgets, ReadLimits, Source, SourceScan, Supply}
import io.epochal.kit.spark.QueryStop
import io.epochal.kit.store.HadoopFileStore
import io.epochal.rest.http.HttpCounters

/** The driver's part of a stream: the identity of an API, its offsets, and a supply of its records ([[RestSupply]]).
  *
  * The position in the stream is the number of delivered records. A replay requests the same records again, or reads
  * them from the journal in the checkpoint.
  *
  * Not guaranteed without a journal: that a replay has the same records. The API must only ever append records to its
  * list, and never change, sort or remove earlier ones; records that it removes from the end are detected (DATA_LOSS).
  */
private[rest] class RestSource(
    options: RestOptions,
    reading: RecordReading,
    checkpoint: InitialOffset,
    tasks: => Int,
    clock: Clock,
    counters: HttpCounters
) extends Source[RestPosition] {
  protected val journal: HadoopFileStore = checkpoint.beside("journal")
  override val polls: PollBudgets = new PollBudgets(
    PollBounds(options.values(PollOptions.MaxPollTime), options.values(PollOptions.MaxPollBytes)))
  protected val supplies = new RestSupply(counters, tasks, clock, polls)
  override lazy val supply: Supply[RestPosition] = supplies.of(options, journal)

  /** With placeholders as the URL has them; the identity has them encoded. */
  override def name: String = s"${RestOptions.Format}[${options.source.replace("%7B", "{").replace("%7D", "}")}]"

  override val limit: ReadLimit = ReadLimits.of(options.values)

  override val eventTimeColumn: Option[String] = options.values.get(SourceOptions.EventTimeColumn)

  override def first: RestPosition = RestPosition.First

  override def isFirstConstant: Boolean = true

  override def toJson(position: RestPosition): String = RestOffset.toJson(options.source, position)

  /** Rejects an offset of another pagination, independently of `sourceId`: the pagination determines how records are
    * counted.
    */
  override def fromJson(json: String): Either[EpochalException, RestPosition] =
    RestOffset.fromJson(options.source, json).filterOrElse(isOurs, ofOtherPaging(json))

  private def isOurs(position: RestPosition): Boolean = position.isFirst || (position match {
    case RestPosition.FannedOut(lists) => options.fanOut.nonEmpty && lists.values.forall(isOfList)
    case _: RestPosition.OfMembers     => options.polledLineage.nonEmpty
    case list                          => options.polledLineage.isEmpty && options.fanOut.isEmpty && isOfList(list)
  })

  private def isOfList(position: RestPosition): Boolean = position.isFirst || (position match {
    case _: RestPosition.OfMembers   => options.since.nonEmpty
    case _ if options.since.nonEmpty => false
    case RestPosition.Journalled(_, _, Some(page), _, _) =>
      options.requests.paging match {
        case _: TimeWindow => page.token.exists(WindowPosition.parse(_).nonEmpty)
        case paging        => paging.isInstanceOf[ChainedPagination]
      }
    case _ => !options.requests.paging.isInstanceOf[ChainedPagination]
  })

  private def ofOtherPaging(json: String): EpochalException = {
    val lists = options.severalBy.orElse(options.since.map(_ => "sinceField")).fold("")(name => s" and {option:$name}")
    Conditions.OffsetInvalid(
      "format" -> RestOptions.Format,
      "offset" -> Redaction.text(json.take(300)),
      "reason" -> s"it was not written with {option:pagination=${options.requests.paging.kind}}$lists")
  }

  /** Tasks get the settings of the checkpoint's file system only if records are or were journalled. */
  override lazy val readerFactory: PartitionReaderFactory = {
    val kept = Option.when(options.journal || journal.names().nonEmpty)(journal)
    new RestReaderFactory(options.requests, reading, counters, kept)
  }

  /** Counts of driver and tasks. */
  override def received: Option[String] = {
    val counts = counters.value
    val retries = if (counts.retries > 0) s", ${counts.retries} of them repeated" else ""
    Some(s"${Plural.of(counts.requests, "request")}$retries, ${Plural.of(counts.bytes, "byte")}")
  }

  override def metrics(rowsBehind: Option[Long]): Map[String, String] =
    counters.value.byName.map { case (name, sum) => name -> sum.toString } ++ ofMembers +
      ("server" -> options.requests.endpoint.base.toString)

  private def ofMembers: Map[String, String] = supply match {
    case members: MemberSupply => members.metrics
    case _                     => Map.empty
  }
}

private[rest] object RestSource {

  /** @param tasks
    *   maximum partitions if `numPartitions` is not set
    */
  def of(
      options: RestOptions,
      reading: RecordReading,
      checkpoint: InitialOffset,
      tasks: => Int,
      clock: Clock,
      counters: HttpCounters): Source[RestPosition] = {
    for (http <- options.requests.http +: options.lineage.toSeq.flatMap(_.levels).map(_.template.requests.http);
      one <- http.auth)
      one.keep(checkpoint.beside("oauth"))
    if (options.followed)
      new RestSource(options, reading, checkpoint, tasks, clock, counters) with JournalledSource[RestPosition] {
        override lazy val supply: RestReceiver = supplies.journalSupply(options, journal, Some(this))
        override def needsEnd: Option[String] = options.rules.needsEnd
        override protected lazy val feedRows: FeedRows =
          new RestFeedRows(options.requests, reading, counters, journal)
      }
    else new RestSource(options, reading, checkpoint, tasks, clock, counters)
  }
}

/** Skips columns that a query does not use, unless they decide which records become rows. */
final private class RestScanBuilder(options: RestOptions, schema: StructType)
    extends ScanBuilder
    with SupportsPushDownRequiredColumns {
  private var readSchema = schema

  override def pruneColumns(requiredSchema: StructType): Unit = if (options.rules.prunable) readSchema = requiredSchema

  override def build(): Scan =
    new RestScan(options, RecordReading(readSchema, SparkSession.active.conf.get("spark.sql.session.timeZone")))
}

final private class RestScan(options: RestOptions, reading: RecordReading)
    extends SourceScan[RestPosition](s"${RestOptions.Format}[${options.source}]", reading.schema) {

  override protected def batch: Batch = new RestBatch(options.first, reading, spark)

  override protected def source(checkpoint: InitialOffset): Source[RestPosition] = {
    if (options.values(RestOptions.InferSchema)) SchemaInference.fix(RestOptions.Format, reading.schema, checkpoint)
    val counters = new HttpCounters
    spark.register(counters)
    RestSource.of(options, reading, checkpoint, spark.defaultParallelism, Clock.systemUTC(), counters)
  }

  override protected def whyNoRealTime: (String, String) = {
    val (_, instead) = super.whyNoRealTime
    if (options.severalBy.nonEmpty) s"with {option:${options.severalBy.get}} it reads several lists" -> instead
    else if (options.since.nonEmpty) "with {option:sinceField} it reads its list again at each poll" -> instead
    else
      "it finds the end of a batch by counting records, before the batch runs" -> s"{option:journal=true}, or $instead"
  }

  override def supportedCustomMetrics(): Array[CustomMetric] = RestMetrics.ofScan
}

/** A batch read: all records that the API has at planning. */
final private class RestBatch(options: RestOptions, reading: RecordReading, spark: SparkContext) extends Batch {
  private val counters = new HttpCounters
  private lazy val tasks = options.numPartitions.getOrElse(spark.defaultParallelism)
  private lazy val partitions = members.fold(of(options, tasks)) { members =>
    val split = FanOutPlan.split(members.size, tasks)
    val skips = options.lineage.nonEmpty && options.skipsGone
    val parts = members.flatMap(member => of(member, split).map(MemberPartition(member.requests, _, skips)))
    FanOutPlan.group(parts, options.requests.http.budget, tasks)
  }

  /** The options of each list; None: there is only one. */
  private def members: Option[Seq[RestOptions]] = options.lineage
    .map { lineage =>
      val connections = options.requests.http.budget.maxConcurrency.getOrElse(tasks)
      Using
        .resource(new MemberRequests(lineage, counters, Clock.systemUTC(), connections))(new MemberBatch(_).members())
        .map(list => options.copy(requests = list.copy(rules = options.rules)))
    }
    .orElse(options.fanOut.map(fanOut => fanOut.table.map(fanOut.member(_, options).first)))

  override def planInputPartitions(): Array[InputPartition] = QueryStop.guard(partitions)

  private def of(options: RestOptions, tasks: Int): Array[InputPartition] = options.requests.paging match {
    case chain: ChainedPagination => Array(ChainPartition(chain.latest(Instant.now())))
    case _ =>
      val records = Using.resource(new RestFrontier(options, counters))(_.exists(0, Long.MaxValue))
      RestPlan.partitions(options, 0, records, tasks)
  }

  override def createReaderFactory(): PartitionReaderFactory = {
    if (!counters.isRegistered) spark.register(counters)
    new RestReaderFactory(options.requests, reading, counters, None)
  }
}
