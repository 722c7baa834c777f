package io.epochal.random

import java.time.Clock
import java.util.Locale

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.{PartitionOffset, ReadLimit}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

import io.epochal.core.error.EpochalException
import io.epochal.kit.source.{ContinuousSource, EndlessReaderFactory, Extent, Supply}

/** Driver side of the source in every mode, called by [[io.epochal.kit.source.SourceStream]].
  *
  * @param defaultPartitions
  *   number of partitions if the options do not set it
  */
private[random] class RandomSource(options: RandomOptions, defaultPartitions: => Int, clock: Clock)
    extends ContinuousSource[RandomPosition] {

  /** Whether the start offset has another number of partitions than the options, so they must first reach the same level. */
  @volatile private var levelling = false

  /** Whether all partitions have reached the same level. */
  @volatile private var level = false

  private def numPartitions = options.numPartitions.getOrElse(defaultPartitions)

  override def name: String = RandomOptions.Format

  override def limit: ReadLimit = options.limit

  override def eventTimeColumn: Option[String] = options.eventTimeColumn

  override def first: RandomPosition = options.begin(clock.millis())

  override def toJson(position: RandomPosition): String = options.toJson(position)

  override def fromJson(json: String): Either[EpochalException, RandomPosition] = options.fromJson(json)

  override val supply: Supply[RandomPosition] = new RandomSupply(options, numPartitions, clock)

  override def readerFactory: PartitionReaderFactory = new RandomReaderFactory(options)

  /** The lag in seconds: the time in which `rowsBehind` rows become available. */
  override def metrics(rowsBehind: Option[Long]): Map[String, String] = rowsBehind.map { rows =>
    val seconds = if (options.rowsPerBatch.isEmpty) rows.toDouble / options.rowsPerSecond else 0.0
    "secondsBehind" -> "%.3f".formatLocal(Locale.ROOT, seconds)
  }.toMap

  override def endlessPartitions(start: RandomPosition): Array[InputPartition] = {
    if (options.rowsPerBatch.nonEmpty)
      throw RandomOptions.group.unsupported(
        "use {option:rowsPerBatch} in a continuous or real-time query",
        "the time ends an epoch there, not a number of rows",
        "Use {option:rowsPerSecond}.")
    val counts = if (start.partitions.isEmpty) Vector.fill(numPartitions)(0L) else start.partitions
    levelling = counts.size != numPartitions
    level = false
    val end = options.maxRows.getOrElse(Long.MaxValue)
    counts.indices.map { p =>
      val at = RandomPartitionOffset(start.copy(partitions = Vector.empty), p, counts.size, counts(p))
      RandomEndlessPartition(at, if (levelling) math.min(end, start.level) else end)
    }.toArray
  }

  /** After a change of `numPartitions`, the old partitions first reach the same level; then Spark plans the new number. */
  override def needsReconfiguration: Boolean = level

  override def endlessReaders: EndlessReaderFactory = new RandomEndlessReaders(options)

  /** A steady rate needs no request. */
  override def lookAhead(end: RandomPosition): Unit = supply.available(end, Long.MaxValue): Unit

  override def merge(offsets: Seq[PartitionOffset]): RandomPosition = {
    val parts = offsets.collect { case offset: RandomPartitionOffset => offset }.sortBy(_.partition)
    val position = parts.head.base.copy(partitions = parts.map(_.count).toVector).normal
    level = levelling && position.partitions.isEmpty
    position
  }
}

/** Finds the end of a batch and splits its rows. Rows are generated where they are read.
  *
  * Not guaranteed: a steady rate relies on the driver's wall clock. The clock determines how many rows exist, never their content.
  */
final private class RandomSupply(options: RandomOptions, numPartitions: => Int, clock: Clock)
    extends Supply[RandomPosition] {

  @volatile private var end = Option.empty[RandomPosition]

  override def available(start: RandomPosition, most: Long): Long = {
    end = Some(start.at(rowsMade(start)))
    math.min(most, end.fold(0L)(_.deliveredRows) - start.deliveredRows)
  }

  /** A start from a continuous query is ragged: the batch ends at its high water or later. */
  override def take(start: RandomPosition, rows: Long): RandomPosition =
    start.at(math.max(start.highWater, start.deliveredRows + rows))

  override def partitions(start: RandomPosition, end: RandomPosition): Array[InputPartition] =
    RandomPlan.slices(start, end, numPartitions).toArray

  override def rowsBefore(position: RandomPosition): Long = position.deliveredRows

  override def known: Option[Extent] = end.map(at => Extent(at.rows, at.rows))

  override def latest: Option[RandomPosition] = end

  /** Nothing is kept for a replay. A source that holds a resource, such as a journal or a position at a server, releases it here up to
    * a few epochs before `end`.
    */
  override def release(end: RandomPosition): Unit = ()

  /** Number of available rows; never fewer than were delivered, even if the clock was set back. */
  private def rowsMade(from: RandomPosition): Long = {
    val available =
      options.rowsPerBatch.fold(RandomPlan.steadyRows(options.rowsPerSecond, from.startedAt, clock.millis()))(rows =>
        options.maxRows.getOrElse(from.highWater + rows))
    math.max(from.highWater, options.maxRows.fold(available)(math.min(_, available)))
  }
}

/** Creates a reader for each task. Serialized to the executors, so all its fields must be serializable. */
final private class RandomReaderFactory(options: RandomOptions) extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new RandomReader(options, partition.asInstanceOf[RandomSlice])
}
