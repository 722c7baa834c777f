package io.epochal.kit.source

import java.time.{Clock, Duration, Instant}
import java.util
import java.util.Optional
import java.util.concurrent.{Future, ScheduledThreadPoolExecutor, TimeUnit}

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.slf4j.LoggerFactory

import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.spark.{LogPace, QueryStop, RunningQuery}

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
  * Under Trigger.AvailableNow a run ends where a poll first sees the end; until then, and up to there, limits apply. Under
  * Trigger.Once, whose only batch has no limits, it ends there too, if the source has a limit by default. A source
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
  private val report = new PollReport(source)
  private var lastBatch = clock.instant()
  private var latest = Option.empty[SourceOffset[P]]
  private var availableNow = false

  /** Under AvailableNow: the number of rows before the end of the run, once it was seen. */
  private var target = Option.empty[Long]

  override def prepareForTriggerAvailableNow(): Unit = {
    availableNow = true
    supply.freezeEnd()
  }

  override def getDefaultReadLimit: ReadLimit = source.limit

  /** Offsets that Spark logs from here on are planned. */
  private lazy val planning: Unit = initial.realTimeRuns.end()

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = QueryStop.guard {
    // Under Trigger.Once Spark ignores the source's limit, and asks once.
    if (limit.isInstanceOf[ReadAllAvailable] && limit != source.limit) prepareForTriggerAvailableNow()
    begin(position(start), position(start))
    planning
    report.begin()
    try endOfBatch(start, limit)
    finally report.end()
  }

  private def endOfBatch(start: Offset, limit: ReadLimit): Offset = {
    val from = reached(start)
    source.polls.poll.begin()
    val waiting = available(from, ReadLimits.ceiling(limit))
    val now = clock.instant()
    lag.polled(from, now)
    // The clock was set back: a minimum waits at most twice as long.
    if (now.isBefore(lastBatch)) lastBatch = now
    // Under AvailableNow a minimum would block the last rows for ever.
    val since = if (availableNow) Instant.EPOCH else lastBatch
    val rows = ReadLimits.admit(limit, waiting, supply.rowsWithin(from, _), Duration.between(since, now))
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

  /** For the progress: the end of the source, regardless of limits. Most polls find the same one. */
  override def reportLatestOffset(): Offset = {
    latest = supply.latest.map(at => latest.filter(_.position == at).getOrElse(SourceOffset(at, source.toJson(at))))
    latest.orNull
  }

  /** `rowsBehind` counts to the last row seen. While a limit cuts batches, a supply may look no further: `rowsBehindExact` is
    * then false, and the number is a lower bound, or missing if no row is known. `secondsBehind` is an upper bound: the time
    * since this run was last at the end.
    */
  override def metrics(latestConsumed: Optional[Offset]): util.Map[String, String] = {
    val consumedPosition = latestConsumed.toScala.map(position)
    consumedPosition.foreach(lag.reached)
    val all = entries(consumedPosition.flatMap(_ => lag.now))
    if (pace.isDue())
      SourceStream.log.info(s"${source.name}: ${all.toSeq.sorted.map { case (k, v) => s"$k=$v" }.mkString(", ")}")
    all.asJava
  }

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = QueryStop.guard {
    begin(position(start), position(end))
    source.polls.ahead.begin()
    supply.partitions(position(start), reached(end))
  }

  override def createReaderFactory(): PartitionReaderFactory = QueryStop.guard(readers)

  override protected def close(): Unit =
    try report.close()
    finally super.close()

  /** A real-time batch has ended at this position, and the origin's end was queried. */
  final protected def looked(end: P): Unit = lag.polled(end, clock.instant())

  private def available(from: P, most: Long): Long = {
    def left = target.map(end => math.max(0L, end - supply.rowsBefore(from)))
    val rows = supply.available(from, left.getOrElse(most))
    if (availableNow && target.isEmpty)
      target = supply.known.filter(_.exact).map(end => math.max(end.exists, supply.rowsBefore(from) + rows))
    left.fold(rows)(math.min(_, rows))
  }
}

private object SourceStream {
  private val log = LoggerFactory.getLogger(classOf[SourceStream[_]])
}

/** Reports what a running poll has received: every second in the message of the query's `status`, every half minute in the log.
  *
  * A poll may take minutes, and a query has no progress before the end of its first batch. Until then `status` is all that a
  * client sees, on Spark Connect too. The timer runs as long as the stream: most polls are too short for one of their own.
  */
final private class PollReport(source: Source[_]) extends AutoCloseable {
  import PollReport._

  private var ticks = Option.empty[Future[_]]

  /** Sets the message of the query. */
  private var message: String => Unit = _
  private var isPolling = false
  private var beginNanos = 0L
  private var lastLog = 0L

  /** Begins a poll, in the query's thread. */
  def begin(): Unit = synchronized {
    if (ticks.isEmpty && source.received.nonEmpty) {
      message = RunningQuery.messageOfThisThread()
      ticks = Some(timer.scheduleAtFixedRate(() => say(), 1, 1, TimeUnit.SECONDS))
    }
    isPolling = true
    beginNanos = System.nanoTime()
    lastLog = 0L
  }

  /** Spark sets the query's message from here on. */
  def end(): Unit = synchronized {
    isPolling = false
  }

  override def close(): Unit = synchronized(ticks.foreach(_.cancel(false)))

  private def say(): Unit = synchronized {
    val seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - beginNanos)
    if (isPolling && seconds > 0) source.received.foreach { amount =>
      message(s"Getting offsets from ${source.name}: $amount so far, $seconds s")
      if (seconds - lastLog >= SecondsPerLine) {
        lastLog = seconds
        log.info(s"${source.name} has been polled for $seconds s: $amount so far")
      }
    }
  }
}

private object PollReport {
  private val log = LoggerFactory.getLogger("io.epochal.kit.source.PollReport")
  private val SecondsPerLine = 30L

  private lazy val timer = {
    val one = new ScheduledThreadPoolExecutor(1, new DaemonThreads("epochal-poll-report"))
    one.setRemoveOnCancelPolicy(true)
    one
  }
}
