package io.epochal.kit.source.realtime

import java.time.Clock

import org.apache.spark.sql.connector.read.streaming.{Offset, PartitionOffset, ReadLimit, SupportsRealTimeMode}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}

import io.epochal.kit.source.{ContinuousSource, InitialOffset, SourceStream}
import io.epochal.kit.spark.QueryStop

/** The driver's part of a source in micro-batches and in real-time mode, which Spark runs as long batches: at each it asks for
  * partitions without an end, its tasks read them until the time of the batch is over, and their offsets are merged into the end
  * of the batch, which Spark logs after the sink has committed.
  *
  * Names interfaces of Spark 4.1: only `kit.source.RealTime` makes it.
  */
final class RealTimeSourceStream[P](source: ContinuousSource[P], initial: InitialOffset, clock: Clock)
    extends SourceStream(source, initial, clock)
    with SupportsRealTimeMode {

  private var realTime = false

  override def prepareForRealTimeMode(): Unit = QueryStop.guard {
    initial.realTimeRuns.begin()
    realTime = true
  }

  /** A real-time batch has no end yet. Told that there is nothing (null), Spark would read nothing for the length of that batch. */
  override def latestOffset(start: Offset, sparkLimit: ReadLimit): Offset =
    if (realTime) start else super.latestOffset(start, sparkLimit)

  override def planInputPartitions(start: Offset): Array[InputPartition] = QueryStop.guard {
    val from = position(start)
    begin(from)
    source.endlessPartitions(from).map(new RealTimePartition(_))
  }

  override def mergeOffsets(offsets: Array[PartitionOffset]): Offset = {
    val end = source.merge(offsets.toSeq)
    source.lookAhead(end)
    looked(end)
    offset(end)
  }

  /** Of both modes: a partition tells in which one it was planned. */
  override def createReaderFactory(): PartitionReaderFactory =
    QueryStop.guard(new RealTimeReaders(source.readerFactory, source.endlessReaders))
}
