package io.epochal.kit.source

import java.time.{Clock, Duration, Instant}
import java.util
import java.util.Optional

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.apache.spark.sql.connector.read.streaming.{ReadLimit => SparkReadLimit, _}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.slf4j.LoggerFactory

import io.epochal.core.limit.{Admission, Backlog, ReadLimit}
import io.epochal.kit.metric.LogPace
import io.epochal.kit.spark.QueryStop

/** The driver's part of every source, in micro-batches.
  *
  * What Spark calls, in the order of a batch:
  *
  *   1. `initialOffset` at the first start and again when batch 0 is replayed: the same both times
  *   1. `latestOffset(start, limit)`: the end of the next batch; null or `start` when there is nothing, and Spark waits
  *   1. Spark writes the end to its offset log: from here on a crash replays the batch up to this very end
  *   1. `commit(end of the batch before)`: those rows will never be read again
  *   1. `planInputPartitions(start, end)` and `createReaderFactory`, in either order, in any run that replays the batch
  *   1. the executors read; then Spark commits the sink and writes its commit log
  *
  * Under Trigger.AvailableNow a run ends where a poll first sees the end; until then, and up to there, limits apply. A source
  * that can be read in real time has a stream that does so as well: see [[RealTime]].
  */
class SourceStream[P](
    source: Source[P],
    initial: InitialOffset,
    clock: Clock,
    private[source] val eventTime: Option[EventTime] = None)
    extends CheckpointedStream(source, initial, clock, eventTime)
    with MicroBatchStream
    with SupportsTriggerAvailableNow
    with ReportsSourceMetrics {

  private val supply = source.supply
  private val pace = new LogPace
  private var lastBatch = clock.instant()
  private var availableNow = false

  /** Under AvailableNow: the number of rows before the end of the run, once it was seen. */
  private var target = Option.empty[Long]

  override def prepareForTriggerAvailableNow(): Unit = {
    availableNow = true
    supply.freezeEnd()
  }

  override def getDefaultReadLimit: SparkReadLimit = ReadLimits.toSpark(source.limit)

  /** Offsets that Spark logs from here on are planned. */
  private lazy val planning: Unit = initial.realTimeRuns.end()

  override def latestOffset(start: Offset, sparkLimit: SparkReadLimit): Offset = QueryStop.guard {
    planning
    begin(position(start))
    PollReport.during(source)(endOfBatch(start, sparkLimit))
  }

  private def endOfBatch(start: Offset, sparkLimit: SparkReadLimit): Offset = {
    val from = reached(start)
    val limit = ReadLimits.fromSpark(sparkLimit)
    source.polls.poll.begin()
    val waiting = available(from, Admission.ceiling(limit))
    val now = clock.instant()
    lag.polled(from, now)
    // Under AvailableNow a minimum would block the last rows for ever.
    val since = if (availableNow) Instant.EPOCH else lastBatch
    val rows = Admission.admit(limit, Backlog(waiting, supply.rowsWithin(from, _)), since, now)
    if (rows > 0) {
      lastBatch = now
      offset(supply.take(from, rows))
    } else if (supply.paused) offset(supply.take(from, 0))
    // Spark runs an empty batch 0 if the offset equals the first one; for null it waits.
    else if (start == initialOffset()) null
    else start
  }

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("Spark asks latestOffset(start, limit) of a source with read limits")

  /** For the progress: the end of the source, regardless of limits. */
  override def reportLatestOffset(): Offset = supply.latest.map(at => SourceOffset(at, source.toJson(at))).orNull

  /** `rowsBehind` counts to the last row seen. While a limit cuts batches, a supply may look no further: `rowsBehindExact` is
    * then false, and the number is a lower bound, or missing if no row is known. `secondsBehind` is an upper bound: the time
    * since this run was last at the end.
    */
  override def metrics(latestConsumed: Optional[Offset]): util.Map[String, String] = {
    val consumed = latestConsumed.toScala.map(position)
    consumed.foreach(lag.reached)
    val found = consumed.flatMap(_ => lag.now)
    val all = found.fold(Map.empty[String, String])(entries) ++ ownMetrics(found.flatMap(_.rows))
    if (pace.isDue())
      SourceStream.log.info(s"${source.name}: ${all.toSeq.sorted.map { case (k, v) => s"$k=$v" }.mkString(", ")}")
    all.asJava
  }

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = QueryStop.guard {
    begin(position(start))
    source.polls.ahead.begin()
    supply.partitions(position(start), reached(end))
  }

  override def createReaderFactory(): PartitionReaderFactory = QueryStop.guard(readers)

  /** A real-time batch has ended at this position, and the origin's end was queried. */
  final protected def looked(end: P): Unit = lag.polled(end, clock.instant())

  private def entries(known: Lag): Map[String, String] = Map("rowsBehindExact" -> known.exact.toString) ++
    known.rows.map("rowsBehind" -> _.toString) ++ known.seconds.map("secondsBehind" -> _.toString)

  private def available(from: P, most: Long): Long = {
    def left = target.map(end => math.max(0L, end - supply.rowsBefore(from)))
    val found = supply.available(from, left.getOrElse(most))
    if (availableNow && target.isEmpty)
      target = supply.known.filter(_.exact).map(end => math.max(end.exists, supply.rowsBefore(from) + found))
    left.fold(found)(math.min(_, found))
  }
}

private object SourceStream {
  private val log = LoggerFactory.getLogger(classOf[SourceStream[_]])
}

/** Converts Spark's read limits. */
private object ReadLimits {

  def toSpark(limit: ReadLimit): SparkReadLimit = limit match {
    case ReadLimit.Unlimited            => SparkReadLimit.allAvailable()
    case ReadLimit.MaxRows(rows)        => SparkReadLimit.maxRows(rows)
    case ReadLimit.MinRows(rows, delay) => SparkReadLimit.minRows(rows, delay.toMillis)
    case ReadLimit.MaxBytes(bytes)      => SparkReadLimit.maxBytes(bytes)
    case ReadLimit.Composite(limits)    => SparkReadLimit.compositeLimit(limits.map(toSpark).toArray)
  }

  /** A limit that counts something else (files) admits everything. */
  def fromSpark(limit: SparkReadLimit): ReadLimit = limit match {
    case _: ReadAllAvailable           => ReadLimit.Unlimited
    case max: ReadMaxRows              => ReadLimit.MaxRows(max.maxRows)
    case min: ReadMinRows              => ReadLimit.MinRows(min.minRows, Duration.ofMillis(min.maxTriggerDelayMs))
    case max: ReadMaxBytes             => ReadLimit.MaxBytes(max.maxBytes)
    case composite: CompositeReadLimit => ReadLimit.all(composite.getReadLimits.toSeq.map(fromSpark))
    case _                             => ReadLimit.Unlimited
  }
}
