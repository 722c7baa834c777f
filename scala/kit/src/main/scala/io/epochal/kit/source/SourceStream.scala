package io.epochal.kit.source

import java.time.{Clock, Instant}
import java.util
import java.util.Optional

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.apache.spark.sql.connector.read.streaming.{
  ContinuousPartitionReaderFactory,
  ContinuousStream,
  MicroBatchStream,
  Offset,
  PartitionOffset,
  ReadLimit,
  ReportsSourceMetrics,
  SparkDataStream,
  SupportsTriggerAvailableNow
}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.slf4j.LoggerFactory

import io.epochal.core.limit.{Admission, Backlog}
import io.epochal.kit.engine.{QueryMetrics, QueryStop}
import io.epochal.kit.metric.LogPace

/** What Spark holds of a position: compared, logged and handed back as its JSON. */
final case class SourceOffset[P](position: P, override val json: String) extends Offset

/** What streams of all modes do: offsets, the first of which is kept in the checkpoint, and release.
  *
  * A stopped query interrupts whatever waits for an origin or the checkpoint: see [[QueryStop]].
  */
abstract class CheckpointedStream[P](source: Source[P], initial: InitialOffset) extends SparkDataStream {

  private lazy val first = deserializeOffset(initial.orElse(source.toJson(source.first)))

  /** Spark asks at the first start, and again when batch 0 is replayed. */
  final override def initialOffset(): Offset = QueryStop.guard(first)

  final override def deserializeOffset(json: String): SourceOffset[P] =
    offset(source.fromJson(json).fold(throw _, identity))

  /** May come twice, and before the batch that ends there can no longer be replayed. */
  final override def commit(end: Offset): Unit = QueryStop.guard(source.supply.release(position(end)))

  final override def stop(): Unit = source.supply.close()

  final override def toString: String = source.name

  protected def offset(position: P): SourceOffset[P] = SourceOffset(position, source.toJson(position))

  /** Spark hands back our own offsets, or, after a restart, what it read from its log. */
  protected def position(offset: Offset): P = offset match {
    case ours: SourceOffset[P @unchecked] => ours.position
    case logged                           => deserializeOffset(logged.json).position
  }
}

/** The driver's part of every source, in micro-batches.
  *
  * What Spark calls, in the order of a batch:
  *
  *   1. `initialOffset` at the first start and again when batch 0 is replayed: the same both times
  *   1. `latestOffset(start, limit)`: the end of the next batch; null or `start` when there is nothing, and Spark waits
  *   1. Spark writes the end to its offset log: from here on a crash replays the batch up to this very end
  *   1. `commit(end of the batch before)`: those rows will never be asked for again
  *   1. `planInputPartitions(start, end)` and `createReaderFactory`, in either order, on whatever run has to replay the batch
  *   1. the executors read; then Spark commits the sink and writes its commit log
  *
  * Under Trigger.AvailableNow a run ends where a poll first sees the end; until then, and up to there, limits hold.
  */
final class SourceStream[P](source: Source[P], initial: InitialOffset, clock: Clock)
    extends CheckpointedStream(source, initial)
    with MicroBatchStream
    with SupportsTriggerAvailableNow
    with ReportsSourceMetrics {

  private val supply = source.supply
  private val lag = new StreamLag(supply, clock)
  private val pace = new LogPace
  private var lastBatch = clock.instant()
  private var availableNow = false
  private var shown = false

  /** Under AvailableNow: the rows before the end of the run, once that was seen. */
  private var target = Option.empty[Long]

  override def prepareForTriggerAvailableNow(): Unit = {
    availableNow = true
    supply.freezeEnd()
  }

  override def getDefaultReadLimit: ReadLimit = ReadLimits.toSpark(source.limit)

  override def latestOffset(start: Offset, sparkLimit: ReadLimit): Offset = QueryStop.guard {
    begin(position(start))
    PollReport.during(source)(endOfBatch(start, sparkLimit))
  }

  private def endOfBatch(start: Offset, sparkLimit: ReadLimit): Offset = {
    val from = position(start)
    val limit = ReadLimits.fromSpark(sparkLimit)
    source.polls.poll.begin()
    val waiting = available(from, Admission.ceiling(limit))
    val now = clock.instant()
    lag.polled(from, now)
    // A minimum would hold the last rows back for ever under AvailableNow.
    val since = if (availableNow) Instant.EPOCH else lastBatch
    val rows = Admission.admit(limit, Backlog(waiting), since, now)
    if (rows > 0) {
      lastBatch = now
      offset(supply.take(from, rows))
    } else if (supply.paused) offset(supply.take(from, 0))
    // Spark runs an empty batch 0 for an offset that is the first one; for none it waits.
    else if (start == initialOffset()) null
    else start
  }

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("Spark asks latestOffset(start, limit) of a source with read limits")

  /** For the progress: where the source stands, whatever the limits let in. */
  override def reportLatestOffset(): Offset = supply.latest.map(offset).orNull

  /** `rowsBehind` counts to the last row seen; while batches are cut by a limit a supply may look no further, and
    * `rowsBehindExact` is false: there are that many rows at the least, and where not one is known the number is left out.
    * `secondsBehind` is an upper bound: the time since this run last stood at the end.
    */
  override def metrics(latestConsumed: Optional[Offset]): util.Map[String, String] = {
    val consumed = latestConsumed.toScala.map(position)
    consumed.foreach(lag.reached)
    val found = consumed.flatMap(_ => lag.now)
    val all = found.fold(Map.empty[String, String])(entries) ++ source.metrics(found.flatMap(_.rows))
    if (pace.isDue())
      SourceStream.log.info(s"${source.name}: ${all.toSeq.sorted.map { case (k, v) => s"$k=$v" }.mkString(", ")}")
    all.asJava
  }

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = QueryStop.guard {
    begin(position(start))
    source.polls.ahead.begin()
    supply.partitions(position(start), position(end))
  }

  override def createReaderFactory(): PartitionReaderFactory = QueryStop.guard(source.readerFactory)

  private def entries(known: Lag): Map[String, String] = Map("rowsBehindExact" -> known.exact.toString) ++
    known.rows.map("rowsBehind" -> _.toString) ++ known.seconds.map("secondsBehind" -> _.toString)

  /** A batch of this run begins after `start`. */
  private def begin(start: P): Unit = {
    lag.begin(start)
    if (!shown) {
      shown = true
      val part = Seq("source", initial.source, source.name.takeWhile(_ != '['))
      val names = gauges(Some(Lag(Some(0L), exact = true, None))).keys
      QueryMetrics.show(part, names)(gauges(lag.now).getOrElse(_, Double.NaN))
    }
  }

  /** What is shown in Spark's metrics system: the numbers of a progress, at any time. */
  private def gauges(found: Option[Lag]): Map[String, Double] = {
    val behind = found.flatMap(_.rows)
    Map(
      "totalRows" -> lag.totalRows.toDouble,
      "rowsBehind" -> behind.fold(Double.NaN)(_.toDouble),
      "rowsBehindExact" -> found.fold(Double.NaN)(known => if (known.exact) 1.0 else 0.0),
      "secondsBehind" -> found.flatMap(_.seconds).fold(Double.NaN)(_.toDouble),
      "secondsSincePoll" -> lag.secondsSincePoll
    ) ++ source.metrics(behind).flatMap { case (name, text) => text.toDoubleOption.map(name -> _) }
  }

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

/** The driver's part of a source in a continuous query. Spark asks for partitions once; the readers run on, and at every epoch
  * their partition offsets come to `mergeOffsets`.
  */
final class ContinuousSourceStream[P](source: ContinuousSource[P], initial: InitialOffset)
    extends CheckpointedStream(source, initial)
    with ContinuousStream {

  override def planInputPartitions(start: Offset): Array[InputPartition] =
    QueryStop.guard(source.endlessPartitions(position(start)))

  override def createContinuousReaderFactory(): ContinuousPartitionReaderFactory = source.endlessReaderFactory

  override def mergeOffsets(offsets: Array[PartitionOffset]): Offset = offset(source.merge(offsets.toSeq))
}
