package io.epochal.rest.source

import java.time.{Clock, Duration, Instant}
import java.util
import java.util.Optional

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.streaming.{
  MicroBatchStream,
  Offset,
  ReadLimit,
  ReportsSourceMetrics,
  SupportsTriggerAvailableNow
}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}

import io.epochal.core.error.{Conditions, EpochalException, Redaction}
import io.epochal.core.limit.{Admission, Backlog}
import io.epochal.kit.engine.{QueryStop, SessionHadoop}
import io.epochal.kit.source.{InitialOffset, ReadLimits}
import io.epochal.rest.http.request.HttpCounters
import io.epochal.rest.source.paging.{
  ChainedPagination,
  PollBudgets,
  RestOffset,
  RestOptions,
  RestPosition,
  TimeWindow,
  WindowPosition
}
import io.epochal.rest.source.record.RestReading
import io.epochal.rest.source.supply.RestSupply

/** The driver's part of the stream: asks the API how many records it has, and shares them out.
  *
  * The position in the stream is the number of records delivered. A replay asks for the same records again, or reads them from
  * the journal in the checkpoint.
  *
  * Not guaranteed, without a journal: that an API gives the same records again. It must only ever add records at the end of its
  * list, and never change, sort or remove earlier ones; what it removes from the end is noticed (DATA_LOSS), the rest is not.
  *
  * @param defaultPartitions
  *   partitions where the options name no number
  */
final class RestStream private[rest] (
    options: RestOptions,
    reading: RestReading,
    initial: InitialOffset,
    defaultPartitions: => Int,
    clock: Clock,
    counters: HttpCounters
) extends MicroBatchStream
    with SupportsTriggerAvailableNow
    with ReportsSourceMetrics {

  private val store = initial.beside("journal")
  private val budgets = new PollBudgets(options.refresh.bounds)
  private val supply = RestSupply.of(options, store, counters, defaultPartitions, clock, budgets)
  private val factory = new RestReaderFactory(options.alone, reading, counters, None)
  private lazy val journalFactory = new RestReaderFactory(options.alone, reading, counters, Some(store))
  private var lastBatch: Instant = clock.instant()
  private var availableNow = false
  private var journalled = options.journal
  private var target = Option.empty[RestPosition]
  private var crawl = 0L
  private var lastAtEnd = Option.empty[Instant]

  private lazy val first: RestOffset =
    deserializeOffset(initial.orElse(RestOffset.toJson(options.source, RestPosition(0))))

  override def initialOffset(): Offset = QueryStop.guard(first)

  override def deserializeOffset(json: String): RestOffset =
    RestOffset(
      options.source,
      RestOffset.fromJson(options.source, json).flatMap(ofPaging(json, _)).fold(throw _, identity))

  override def prepareForTriggerAvailableNow(): Unit = {
    availableNow = true
    supply.lookOnce()
  }

  override def getDefaultReadLimit: ReadLimit = ReadLimits.toSpark(options.limit)

  override def latestOffset(start: Offset, sparkLimit: ReadLimit): Offset = QueryStop.guard {
    val from = position(start)
    crawl = from.crawl
    val limit = ReadLimits.fromSpark(sparkLimit)
    val backlog = available(from, Admission.ceiling(limit))
    val now = clock.instant()
    if (supply.known.exists(extent => extent.exact && extent.ends <= from.records)) lastAtEnd = Some(now)
    // A minimum would hold the last rows back for ever under AvailableNow.
    val since = if (availableNow) Instant.EPOCH else lastBatch
    val rows = Admission.admit(limit, Backlog(backlog), since, now)
    if (rows > 0) {
      lastBatch = now
      val end = supply.take(from, rows)
      crawl = end.crawl
      RestOffset(options.source, end)
    } else if (supply.paused || availableNow && goesOn) {
      // An empty batch, so that neither this run nor the next begins before these pages again.
      RestOffset(options.source, supply.take(from, 0))
    } else {
      // Spark runs an empty batch 0 for an offset that is the first one; for none it waits.
      if (start == first) null else RestOffset(options.source, from)
    }
  }

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("Spark asks latestOffset(start, limit) of a source with read limits")

  override def reportLatestOffset(): Offset =
    supply.known.map(extent => RestOffset(options.source, RestPosition(extent.exists, crawl = crawl))).orNull

  /** `rowsBehind` counts to the last record seen; while batches are cut by a limit nobody looks further, and
    * `rowsBehindExact` is false: there are that many rows at the least, and where not one is known the number is left out.
    * `secondsBehind` is an upper bound: the time since this run last stood at the end.
    */
  override def metrics(latestConsumed: Optional[Offset]): util.Map[String, String] = {
    val counts = counters.value
    val lag = for {
      consumed <- latestConsumed.toScala.map(position(_))
      extent <- supply.known
    } yield {
      // Of a list that is begun again nothing is consumed yet.
      val behind = math.max(0L, extent.exists - (if (consumed.crawl == crawl) consumed.records else 0L))
      val seconds =
        if (behind == 0 && extent.exact) Some(0L) else lastAtEnd.map(Duration.between(_, clock.instant()).toSeconds)
      Map("rowsBehindExact" -> extent.exact.toString) ++
        Option.when(extent.exact || behind > 0)("rowsBehind" -> behind.toString) ++
        seconds.map(s => "secondsBehind" -> s.toString)
    }
    val sums = Map[String, Any](
      "server" -> options.endpoint.base,
      "pages" -> counts.pages,
      "requests" -> counts.requests,
      "retries" -> counts.retries,
      "throttled" -> counts.throttled,
      "waitedMillis" -> counts.waitedMillis,
      "bytes" -> counts.bytes,
      "malformed" -> counts.malformed)
    (lag.getOrElse(Map.empty[String, String]) ++ sums.map { case (name, n) => name -> n.toString }).asJava
  }

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = QueryStop.guard {
    journalled = options.journal || position(end).journalled
    budgets.ahead.begin()
    supply.partitions(position(start), position(end))
  }

  /** Where nothing is journalled, tasks are spared the settings of the checkpoint's file system. */
  override def createReaderFactory(): PartitionReaderFactory = if (journalled) journalFactory else factory

  /** Lets go of segments of the journal. Without one nothing is kept for a replay: the API is asked again. */
  override def commit(end: Offset): Unit = QueryStop.guard(supply.release(position(end)))

  override def stop(): Unit = supply.close()

  /** Spark's progress calls the source by this. */
  override def toString: String = s"${RestOptions.Format}[${options.source}]"

  /** Whether pages without records hid the end. An API may name another page for ever. */
  private def goesOn: Boolean = supply.brokeOff && supply.gaps <= RestStream.MaxGaps

  /** Under AvailableNow a run ends where the end is first seen: by the first poll, or, of records that are journalled piece by piece,
    * by the one that comes there.
    */
  private def available(from: RestPosition, most: Long): Long = {
    budgets.poll.begin()
    if (target.isEmpty && availableNow) {
      val found = supply.available(from, if (options.journal) most else Long.MaxValue)
      target = if (options.journal) end(from, found) else Some(supply.take(from, found))
      target.fold(found)(end => math.min(found, left(from, end)))
    } else
      target.fold(supply.available(from, most))(end =>
        math.min(left(from, end), supply.available(from, left(from, end))))
  }

  private def left(from: RestPosition, end: RestPosition): Long =
    if (from.crawl > end.crawl) 0L else math.max(0L, end.records - from.firstUntil(end))

  /** Where the list ends, once that was seen, or too many pages without records were. */
  private def end(from: RestPosition, found: Long): Option[RestPosition] =
    supply.known
      .collect { case extent if extent.exact => math.max(from.records, extent.exists) }
      .orElse(Option.when(supply.brokeOff && !goesOn)(from.records + found))
      .map(RestPosition(_, crawl = from.crawl))

  private def position(offset: Offset): RestPosition = offset match {
    case ours: RestOffset => ours.position
    case logged           => deserializeOffset(logged.json).position
  }

  /** Records that were counted in one kind of pagination are not those of another, under whatever `sourceId`. */
  private def ofPaging(json: String, position: RestPosition): Either[EpochalException, RestPosition] = {
    def fitting(one: RestPosition): Boolean = {
      val follows = one.journal.exists(_.next.nonEmpty)
      options.paging match {
        case _: TimeWindow if follows =>
          one.journal.flatMap(_.next).flatMap(_.token).exists(WindowPosition.parse(_).nonEmpty)
        case _: ChainedPagination => follows || one == RestPosition(0)
        case _                    => !follows
      }
    }
    val fits = position == RestPosition(0) ||
      (if (options.fanOut.isEmpty) position.members.isEmpty && fitting(position)
       else position.members.nonEmpty && position.members.values.forall(fitting))
    Either.cond(
      fits,
      position,
      Conditions
        .OffsetInvalid("format" -> RestOptions.Format, "offset" -> Redaction.text(json.take(300)), "reason" -> s"it was not written with pagination=${options.paging.kind}${options.fanOut.fold("")(_ => " and partitionParams")}"))
  }
}

private[rest] object RestStream {

  /** Stretches of pages without records that one run passes under AvailableNow. */
  private val MaxGaps = 10

  def apply(options: RestOptions, reading: RestReading, checkpoint: String): RestStream = {
    val spark = SparkSession.active.sparkContext
    val counters = new HttpCounters
    spark.register(counters)
    new RestStream(
      options,
      reading,
      new InitialOffset(checkpoint, SessionHadoop.configuration),
      spark.defaultParallelism,
      Clock.systemUTC(),
      counters)
  }
}
