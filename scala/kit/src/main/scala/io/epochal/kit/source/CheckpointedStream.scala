package io.epochal.kit.source

import java.time.{Clock, Duration, Instant}
import java.util.concurrent.atomic.AtomicBoolean

import org.apache.spark.sql.connector.read.PartitionReaderFactory
import org.apache.spark.sql.connector.read.streaming._

import io.epochal.core.error.Conditions
import io.epochal.kit.spark.{ApplicationEnd, QueryMetrics, QueryStop}

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
    deserializeOffset(
      initial.orElse(source.toJson(source.first), source.isFirstConstant, !isOfOther(_), source.remains))

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
    case offset                           => deserializeOffset(offset.json).position
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
  final protected def begin(start: P, loggedEnd: P): Unit = {
    lag.begin(start)
    if (!begun) {
      if (atEnd.isEmpty) atEnd = Some(ApplicationEnd.run(() => source.applicationEnded()))
      source.open(start, loggedEnd)
      begun = true
      val part = Seq("source", initial.source, source.name.takeWhile(_ != '['))
      val names = gauges(Some(Lag(Some(0L), exact = true, Some(0L)))).keySet ++ eventTime.map(_ => EventTime.Lag)
      QueryMetrics.show(part, names)(gauges(lag.now).getOrElse(_, Double.NaN))
    }
  }

  final protected def entries(lag: Option[Lag]): Map[String, String] =
    lag.fold(Map.empty[String, String])(_.entries) ++ source.metrics(lag.flatMap(_.rows)) ++
      eventTime.fold(Map.empty[String, String])(_.metrics)

  private def gauges(current: Option[Lag]): Map[String, Double] =
    Map("totalRows" -> lag.totalRows.toDouble, "secondsSincePoll" -> lag.secondsSincePoll) ++
      entries(current).flatMap { case (name, text) => number(text).map(name -> _) }

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
  private var position = Option.empty[P]

  /** Begins a batch after `start`; the first one may be a replay. */
  def begin(start: P): Unit = if (position.isEmpty) position = Some(start)

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
    position.foreach(from => total += math.max(0L, rows - supply.rowsBefore(from)))
    position = Some(end)
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
