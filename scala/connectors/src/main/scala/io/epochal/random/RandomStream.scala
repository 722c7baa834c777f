package io.epochal.random

import java.time.{Clock, Instant}
import java.util
import java.util.{Locale, Optional}

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.streaming.{
  ContinuousPartitionReaderFactory,
  ContinuousStream,
  MicroBatchStream,
  Offset,
  PartitionOffset,
  ReadLimit,
  ReportsSourceMetrics,
  SupportsTriggerAvailableNow
}
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory}

import io.epochal.core.error.Conditions
import io.epochal.core.limit.{Admission, Backlog}
import io.epochal.kit.engine.{QueryStop, SessionHadoop}
import io.epochal.kit.source.{InitialOffset, ReadLimits}

/** The driver's part of the stream, in every mode.
  *
  * What Spark calls, in the order of a micro-batch:
  *
  *   1. `initialOffset` at the first start and again when batch 0 is replayed: the answer is kept in the checkpoint
  *   1. `latestOffset(start, limit)`: the end of the next batch; equal to `start` when there is nothing, and Spark waits
  *   1. Spark writes the end to its offset log: from here on a crash replays the batch up to this very end
  *   1. `commit(end of the batch before)`: those rows will never be asked for again
  *   1. `planInputPartitions(start, end)`: must give the same rows whenever and wherever it is asked
  *   1. the executors read; then Spark commits the sink and writes its commit log
  *
  * In a continuous query Spark asks `planInputPartitions(start)` once; the readers run on, and at every epoch their
  * partition offsets come to `mergeOffsets`.
  *
  * Not guaranteed: a steady rate counts on the wall clock of the driver. It decides only how many rows exist; which rows
  * they are never depends on it.
  *
  * @param defaultPartitions
  *   partitions where the options name no number
  */
final class RandomStream(options: RandomOptions, initial: InitialOffset, defaultPartitions: => Int, clock: Clock)
    extends MicroBatchStream
    with SupportsTriggerAvailableNow
    with ReportsSourceMetrics
    with ContinuousStream {

  private var lastBatch: Instant = clock.instant()
  private var availableNow = false
  private var target = Option.empty[Long]
  private var held = Option.empty[RandomPosition]

  /** Touches the checkpoint, so it can be interrupted: see [[QueryStop]]. */
  override def initialOffset(): Offset =
    QueryStop.guard(deserializeOffset(initial.orElse(options.toOffset(options.begin(clock.millis())).json)))

  override def deserializeOffset(json: String): RandomOffset =
    options.toOffset(options.fromJson(json).fold(throw _, identity))

  /** Trigger.AvailableNow: the target is fixed from what exists when the first batch is planned, then limits hold. */
  override def prepareForTriggerAvailableNow(): Unit = availableNow = true

  override def getDefaultReadLimit: ReadLimit = ReadLimits.toSpark(options.limit)

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    val from = position(start)
    val exists = rowsHeld(from)
    if (availableNow && target.isEmpty) target = Some(exists)
    val until = target.fold(exists)(math.min(_, exists))
    val now = clock.instant()
    val level = from.highWater
    val rows = Admission.admit(ReadLimits.fromSpark(limit), Backlog(math.max(0L, until - level)), lastBatch, now)
    held = Some(from.at(exists))
    if (rows == 0 && level == from.delivered) start
    else {
      lastBatch = now
      options.toOffset(from.at(level + rows))
    }
  }

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("Spark asks latestOffset(start, limit) of a source with read limits")

  /** For the progress: where the source stands, whatever the limits let in. */
  override def reportLatestOffset(): Offset =
    held.map(options.toOffset).orNull

  override def metrics(latestConsumed: Optional[Offset]): util.Map[String, String] =
    latestConsumed.toScala
      .map(position)
      .zip(held)
      .fold(Map.empty[String, String]) { case (consumed, now) =>
        val behind = math.max(0L, now.rows - consumed.delivered)
        val seconds = options.pace match {
          case Pace.Steady(rate) => behind.toDouble / rate
          case _: Pace.PerBatch  => 0.0
        }
        Map("rowsBehind" -> behind.toString, "secondsBehind" -> "%.3f".formatLocal(Locale.ROOT, seconds))
      }
      .asJava

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
    RandomPlan.slices(position(start), position(end), numPartitions).toArray

  override def createReaderFactory(): PartitionReaderFactory = new RandomReaderFactory(options)

  /** One endless partition each. A restart keeps the number of partitions that the offset tells of. */
  override def planInputPartitions(start: Offset): Array[InputPartition] = {
    val from = position(start)
    val rate = options.pace match {
      case Pace.Steady(rowsPerSecond) => rowsPerSecond
      case _: Pace.PerBatch =>
        throw Conditions.ModeUnsupported(
          "format" -> RandomOptions.Format,
          "mode" -> "use rowsPerBatch in a continuous query",
          "reason" -> "it has no batches",
          "suggestion" -> "Use rowsPerSecond."
        )
    }
    val counts = if (from.partitions.isEmpty) Vector.fill(numPartitions)(0L) else from.partitions
    counts.indices.map { p =>
      val at = RandomPartitionOffset(from.copy(partitions = Vector.empty), p, counts.size, counts(p))
      RandomContinuousPartition(at, rate, options.maxRows.getOrElse(Long.MaxValue))
    }.toArray
  }

  override def createContinuousReaderFactory(): ContinuousPartitionReaderFactory =
    new RandomContinuousReaderFactory(options)

  /** Partition offsets arrive in any order, one of each partition. */
  override def mergeOffsets(offsets: Array[PartitionOffset]): Offset = {
    val parts = offsets.collect { case offset: RandomPartitionOffset => offset }.sortBy(_.partition)
    options.toOffset(parts.head.base.copy(partitions = parts.map(_.count).toVector).normal)
  }

  /** Nothing is kept for a replay: every row can be made again. A source that holds something (a journal, a position at a
    * server) releases here what lies below `end`, and keeps a few epochs more: Spark may still replay the last one.
    */
  override def commit(end: Offset): Unit = ()

  override def stop(): Unit = ()

  private def numPartitions: Int = options.numPartitions.getOrElse(defaultPartitions)

  /** Spark hands back our own offsets, or, after a restart, what it read from its log. */
  private def position(offset: Offset): RandomPosition = offset match {
    case ours: RandomOffset => ours.position
    case logged             => options.fromJson(logged.json).fold(throw _, identity)
  }

  /** How many rows exist. Never fewer than were delivered: a clock that was set back takes no row away. */
  private def rowsHeld(from: RandomPosition): Long = {
    val made = options.pace match {
      case Pace.Steady(rate)   => RandomPlan.steadyRows(rate, from.startedAt, clock.millis())
      case Pace.PerBatch(rows) => options.maxRows.getOrElse(from.highWater + rows)
    }
    math.max(from.highWater, options.maxRows.fold(made)(math.min(_, made)))
  }

  override def toString: String = RandomOptions.Format
}

object RandomStream {

  /** @param checkpoint
    *   this source's own directory in the query's checkpoint
    */
  def apply(options: RandomOptions, checkpoint: String, clock: Clock): RandomStream = {
    val spark = SparkSession.active
    new RandomStream(
      options,
      new InitialOffset(checkpoint, SessionHadoop.configuration),
      spark.sparkContext.defaultParallelism,
      clock
    )
  }
}

/** The batch read: the first `maxRows` rows. */
final private class RandomBatch(options: RandomOptions) extends Batch {

  override def planInputPartitions(): Array[InputPartition] = {
    val rows = options.maxRows.getOrElse(throw needsEnd)
    val partitions = options.numPartitions.getOrElse(SparkSession.active.sparkContext.defaultParallelism)
    val begin = options.begin(0)
    RandomPlan.slices(begin, begin.at(rows), partitions).toArray
  }

  override def createReaderFactory(): PartitionReaderFactory = new RandomReaderFactory(options)

  private def needsEnd = Conditions.OptionRequired(
    "format" -> RandomOptions.Format,
    "option" -> RandomOptions.MaxRows.name,
    "doc" -> "a batch read must end",
    "example" -> RandomOptions.MaxRows.example
  )
}
