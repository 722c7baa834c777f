package io.epochal.kit.source

import java.time.{Clock, Duration, Instant}
import java.util
import java.util.Optional
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.{Future, ScheduledThreadPoolExecutor, TimeUnit}

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.slf4j.LoggerFactory

import io.epochal.core.error.Conditions
import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.spark.{ApplicationEnd, LogPace, QueryMetrics, QueryStop, RunningQuery}

/** A position as Spark handles it: compared, logged and returned as its JSON. */
final case class SourceOffset[P](position: P, override val json: String) extends Offset

/** The part of a stream that all modes share: offsets with their event time, readers, gauges, lag and release.
  *
  * A query that stops interrupts a wait for the origin or the checkpoint: see [[QueryStop]].
  *
  * @param eventTime
  *   None: the user set no event time column
  */
abstract class CheckpointedStream[P] private[source] (
    source: Source[P],
    initial: InitialOffset,
    clock: Clock,
    eventTime: Option[EventTime])
    extends SparkDataStream {

  final private[source] val lag = new StreamLag(source.supply, clock)
  private var begun = false
  private val stopped = new AtomicBoolean
  @volatile private var atEnd = Option.empty[AutoCloseable]
  private lazy val first =
    deserializeOffset(initial.orElse(source.toJson(source.first), source.isFirstConstant, !isOfOther(_)))

  private def isOfOther(json: String): Boolean =
    source.fromJson(json).left.exists(_.condition == Conditions.SourceChanged)

  /** Spark calls it at the first start, and again when batch 0 is replayed. */
  final override def initialOffset(): Offset = QueryStop.guard(first)

  final override def deserializeOffset(json: String): SourceOffset[P] = {
    val position = source.fromJson(json).fold(throw _, identity)
    val own = source.toJson(position)
    SourceOffset(position, eventTime.fold(own)(_ => EventTime.write(own, EventTime.read(json))))
  }

  /** Spark may call it twice for a position, and while the batch that ends there can still be replayed. */
  override def commit(end: Offset): Unit = QueryStop.guard(source.supply.release(position(end)))

  /** Spark calls it when the query ends, and not always when the application does. */
  final override def stop(): Unit = if (stopped.compareAndSet(false, true))
    try close()
    finally atEnd.foreach(_.close())

  protected def close(): Unit =
    try eventTime.foreach(_.close())
    finally source.supply.close()

  final override def toString: String = source.name

  /** The offset of a position, with the event time delivered so far. */
  final protected def offset(position: P): SourceOffset[P] = {
    val json = source.toJson(position)
    SourceOffset(position, eventTime.fold(json)(_.mark(json)))
  }

  /** The position of an offset: one of this stream, or, after a restart, one from Spark's log. */
  final protected def position(offset: Offset): P = offset match {
    case ours: SourceOffset[P @unchecked] => ours.position
    case logged                           => deserializeOffset(logged.json).position
  }

  /** The position of a logged offset, whose event time counts. */
  final protected def reached(offset: Offset): P = {
    eventTime.foreach(_.reached(offset.json))
    position(offset)
  }

  final protected def readers: PartitionReaderFactory =
    eventTime.fold(source.readerFactory)(_.readers(source.readerFactory))

  final protected def endlessReaders(endless: ContinuousSource[P]): EndlessReaderFactory =
    eventTime.fold(endless.endlessReaders)(_.readers(endless.endlessReaders))

  final protected def merged(endless: ContinuousSource[P], offsets: Array[PartitionOffset]): P =
    endless.merge(eventTime.fold(offsets.toSeq)(_.merged(offsets.toSeq)))

  /** Begins a batch after `start`, in the query's thread; a batch that is replayed ends at `logged`. From the first one on the
    * source is open, and Spark's metrics system always has the numbers of a progress.
    */
  final protected def begin(start: P, logged: P): Unit = {
    lag.begin(start)
    if (!begun) {
      if (atEnd.isEmpty) atEnd = Some(ApplicationEnd.run(() => source.applicationEnded()))
      source.open(start, logged)
      begun = true
      val part = Seq("source", initial.source, source.name.takeWhile(_ != '['))
      val names = gauges(Some(Lag(Some(0L), exact = true, Some(0L)))).keySet ++ eventTime.map(_ => EventTime.Lag)
      QueryMetrics.show(part, names)(gauges(lag.now).getOrElse(_, Double.NaN))
    }
  }

  /** The entries of a progress. */
  final protected def entries(found: Option[Lag]): Map[String, String] =
    found.fold(Map.empty[String, String])(_.entries) ++ source.metrics(found.flatMap(_.rows)) ++
      eventTime.fold(Map.empty[String, String])(_.metrics)

  private def gauges(found: Option[Lag]): Map[String, Double] =
    Map("totalRows" -> lag.totalRows.toDouble, "secondsSincePoll" -> lag.secondsSincePoll) ++
      entries(found).flatMap { case (name, text) => number(text).map(name -> _) }

  /** `true` is 1, `false` is 0; other texts are not metrics. */
  private def number(text: String): Option[Double] =
    text.toDoubleOption.orElse(text.toBooleanOption.map(if (_) 1.0 else 0.0))
}

/** The progress of a stream and its lag behind the end. The query's thread writes it, any thread reads it. */
final private[source] class StreamLag[P](supply: Supply[P], clock: Clock) {
  @volatile private var lastPoll = clock.instant()
  @volatile private var lastAtEnd = Option.empty[Instant]

  /** The rows before the position where the last poll began, or before a later delivered one. */
  @volatile private var rowsBefore = Option.empty[Long]
  @volatile private var total = 0L
  private var counted = Option.empty[P]

  /** Begins a batch after `start`; the first one may be a replay. */
  def begin(start: P): Unit = if (counted.isEmpty) counted = Some(start)

  /** A poll for rows after `start` has ended. */
  def polled(start: P, now: Instant): Unit = {
    val rows = supply.rowsBefore(start)
    rowsBefore = Some(rows)
    lastPoll = now
    if (supply.known.exists(extent => extent.exact && extent.ends <= rows)) lastAtEnd = Some(now)
  }

  /** All rows before a position are delivered. */
  def reached(end: P): Unit = {
    val rows = supply.rowsBefore(end)
    rowsBefore = Some(rows)
    counted.foreach(from => total += math.max(0L, rows - supply.rowsBefore(from)))
    counted = Some(end)
  }

  /** Rows that batches of this run have delivered. */
  def totalRows: Long = total

  def secondsSincePoll: Double = Duration.between(lastPoll, clock.instant()).toMillis / 1000.0

  /** None before the first poll. */
  def now: Option[Lag] = rowsBefore.flatMap(at)

  private def at(rows: Long): Option[Lag] = supply.known.map { extent =>
    val behind = math.max(0L, extent.exists - rows)
    val seconds =
      if (extent.exact && behind == 0) Some(0L)
      else lastAtEnd.map(Duration.between(_, clock.instant()).toSeconds)
    Lag(Option.when(extent.exact || behind > 0)(behind), extent.exact, seconds)
  }
}

/** The lag of a stream.
  *
  * @param rows
  *   up to the last row seen; None if none is known
  * @param exact
  *   whether that row is the last one
  * @param seconds
  *   since this run was last at the end: an upper bound; None if it never was
  */
final private[source] case class Lag(rows: Option[Long], exact: Boolean, seconds: Option[Long]) {

  def entries: Map[String, String] = Map("rowsBehindExact" -> exact.toString) ++ rows.map("rowsBehind" -> _.toString) ++
    seconds.map("secondsBehind" -> _.toString)
}

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
    val consumed = latestConsumed.toScala.map(position)
    consumed.foreach(lag.reached)
    val all = entries(consumed.flatMap(_ => lag.now))
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
    val found = supply.available(from, left.getOrElse(most))
    if (availableNow && target.isEmpty)
      target = supply.known.filter(_.exact).map(end => math.max(end.exists, supply.rowsBefore(from) + found))
    left.fold(found)(math.min(_, found))
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
  private var begun = 0L
  private var logged = 0L

  /** Begins a poll, in the query's thread. */
  def begin(): Unit = synchronized {
    if (ticks.isEmpty && source.received.nonEmpty) {
      message = RunningQuery.messageOfThisThread()
      ticks = Some(timer.scheduleAtFixedRate(() => say(), 1, 1, TimeUnit.SECONDS))
    }
    isPolling = true
    begun = System.nanoTime()
    logged = 0L
  }

  /** Spark sets the query's message from here on. */
  def end(): Unit = synchronized {
    isPolling = false
  }

  override def close(): Unit = synchronized(ticks.foreach(_.cancel(false)))

  private def say(): Unit = synchronized {
    val seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun)
    if (isPolling && seconds > 0) source.received.foreach { received =>
      message(s"Getting offsets from ${source.name}: $received so far, $seconds s")
      if (seconds - logged >= SecondsPerLine) {
        logged = seconds
        log.info(s"${source.name} has been polled for $seconds s: $received so far")
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
