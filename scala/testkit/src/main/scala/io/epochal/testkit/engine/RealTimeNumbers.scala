package io.epochal.testkit.engine

import java.lang.{Long => JavaLong}
import java.nio.file.Path

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead.RecordStatus
import org.apache.spark.sql.connector.read.streaming.{
  Offset,
  PartitionOffset,
  ReadLimit,
  SupportsRealTimeMode,
  SupportsRealTimeRead
}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

/** Stream of numbers for micro-batches and real-time mode. Implements interfaces of Spark 4.1, so [[NumberedSource]] loads it only
  * if they exist.
  */
final private[engine] class RealTimeNumbers(file: Path, batch: Int)
    extends NumberedStream(file, batch)
    with SupportsRealTimeMode {

  override def planInputPartitions(start: Offset): Array[InputPartition] = start match {
    case counts: NumberCounts => NumberCounts.slices(file, batch, counts)
    case NumberOffset(0)      => NumberCounts.slices(file, batch, NumberCounts.Zero)
    case other                => throw new IllegalArgumentException(s"not the start of a real-time query: $other")
  }

  /** Spark also calls it between two epochs. */
  override def latestOffset(start: Offset, limit: ReadLimit): Offset = start match {
    case NumberCounts(counts) =>
      val there = NumberedSource.available(file)
      NumberCounts(counts.zipWithIndex.map { case (count, index) =>
        math.max(count, (there - index + counts.size - 1) / counts.size)
      })
    case other => super.latestOffset(other, limit)
  }

  override def mergeOffsets(offsets: Array[PartitionOffset]): Offset = NumberCounts.merged(offsets)

  override def deserializeOffset(json: String): Offset =
    NumberCounts.parse(json).getOrElse(super.deserializeOffset(json))

  override def createReaderFactory(): PartitionReaderFactory = RealTimeNumberReaders
}

private case object RealTimeNumberReaders extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case slice: EndlessNumberSlice => new RealTimeNumberReader(slice)
    case other                     => NumberReaderFactory.createReader(other)
  }
}

final private class RealTimeNumberReader(slice: EndlessNumberSlice)
    extends EndlessNumbers(slice)
    with SupportsRealTimeRead[InternalRow] {

  /** The signature of Spark 4.1. */
  def nextWithTimeout(timeoutMillis: JavaLong): RecordStatus =
    RecordStatus.newStatusWithoutArrivalTime(next(math.max(0L, timeoutMillis)))

  /** The signature of Spark 4.2 and later. */
  override def nextWithTimeout(startMillis: JavaLong, timeoutMillis: JavaLong): RecordStatus =
    nextWithTimeout(timeoutMillis)
}
