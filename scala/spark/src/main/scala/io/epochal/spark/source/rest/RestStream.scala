package io.epochal.spark.source.rest

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

import io.epochal.core.limit.{Admission, Backlog}
import io.epochal.spark.http.HttpCounters
import io.epochal.spark.seam.SessionHadoop
import io.epochal.spark.source.{InitialOffset, ReadLimits}

/** The driver's part of the stream: asks the API how many records it has, and shares them out.
  *
  * The position in the stream is the number of records delivered, so a replay asks for the same records again.
  *
  * Not guaranteed: that an API gives the same records again. It must only ever add records at the end of its list, and never
  * change, sort or remove earlier ones; what it removes from the end is noticed (DATA_LOSS), the rest is not.
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

  private val frontier = new RestFrontier(options, counters)
  private val factory = new RestReaderFactory(options, reading, counters)
  private var lastBatch: Instant = clock.instant()
  private var availableNow = false
  private var target = Option.empty[Long]
  private var lastAtEnd = Option.empty[Instant]

  private lazy val first: RestOffset =
    deserializeOffset(initial.orElse(RestOffset.toJson(options.source, RestPosition(0))))

  override def initialOffset(): Offset = first

  override def deserializeOffset(json: String): RestOffset =
    RestOffset(options.source, RestOffset.fromJson(options.source, json).fold(throw _, identity))

  override def prepareForTriggerAvailableNow(): Unit = availableNow = true

  override def getDefaultReadLimit: ReadLimit = ReadLimits.toSpark(options.limit)

  override def latestOffset(start: Offset, sparkLimit: ReadLimit): Offset = {
    val from = records(start)
    val limit = ReadLimits.fromSpark(sparkLimit)
    val until = exists(from, Admission.ceiling(limit))
    val now = clock.instant()
    if (frontier.known.exists(extent => extent.exact && extent.ends <= from)) lastAtEnd = Some(now)
    // A minimum would hold the last rows back for ever under AvailableNow.
    val since = if (availableNow) Instant.EPOCH else lastBatch
    val rows = Admission.admit(limit, Backlog(until - from), since, now)
    if (rows > 0) lastBatch = now
    // Spark runs an empty batch 0 for an offset that is the first one; for none it waits.
    if (rows == 0 && start == first) null else RestOffset(options.source, RestPosition(from + rows))
  }

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("Spark asks latestOffset(start, limit) of a source with read limits")

  override def reportLatestOffset(): Offset =
    frontier.known.map(extent => RestOffset(options.source, RestPosition(extent.exists))).orNull

  /** `rowsBehind` counts to the last record seen; while batches are cut by a limit nobody looks further, and
    * `rowsBehindExact` is false. `secondsBehind` is an upper bound: the time since this run last stood at the end.
    */
  override def metrics(latestConsumed: Optional[Offset]): util.Map[String, String] = {
    val counts = counters.value
    val lag = for {
      consumed <- latestConsumed.toScala.map(records)
      extent <- frontier.known
    } yield {
      val behind = math.max(0L, extent.exists - consumed)
      val seconds =
        if (behind == 0 && extent.exact) Some(0L) else lastAtEnd.map(Duration.between(_, clock.instant()).toSeconds)
      Map("rowsBehind" -> behind.toString, "rowsBehindExact" -> extent.exact.toString) ++
        seconds.map(s => "secondsBehind" -> s.toString)
    }
    val sums = Map[String, Any](
      "server" -> options.endpoint.base,
      "pages" -> counts.pages,
      "requests" -> counts.requests,
      "retries" -> counts.retries,
      "throttled" -> counts.throttled,
      "waitedMillis" -> counts.waitedMillis,
      "bytes" -> counts.bytes)
    (lag.getOrElse(Map.empty[String, String]) ++ sums.map { case (name, n) => name -> n.toString }).asJava
  }

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val (from, until) = (records(start), records(end))
    if (from < until) frontier.contact(until - 1)
    RestPlan.partitions(options, from, until, defaultPartitions)
  }

  override def createReaderFactory(): PartitionReaderFactory = factory

  /** Nothing is kept for a replay: the API is asked again. */
  override def commit(end: Offset): Unit = ()

  override def stop(): Unit = frontier.close()

  /** Spark's progress calls the source by this. */
  override def toString: String = s"${RestOptions.Format}[${options.source}]"

  /** Under AvailableNow the end is looked for once, when the first batch is planned. */
  private def exists(from: Long, most: Long): Long = {
    if (availableNow && target.isEmpty) target = Some(frontier.exists(from, Long.MaxValue))
    frontier.exists(from, target.fold(most)(end => math.max(0L, end - from)))
  }

  private def records(offset: Offset): Long = offset match {
    case ours: RestOffset => ours.position.records
    case logged           => deserializeOffset(logged.json).position.records
  }
}

private[rest] object RestStream {

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
