package io.epochal.kit.source.realtime

import java.lang.{Long => JavaLong}
import java.time.Clock
import java.util.UUID

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead.RecordStatus
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.epochal.core.error.Conditions
import io.epochal.core.journal.Generation
import io.epochal.core.offset.CountedStream
import io.epochal.kit.source._
import io.epochal.kit.spark.{QueryStop, RunningQuery}

/** The driver's part of a source in micro-batches and in real-time mode, which Spark runs as long batches: for each, it plans
  * partitions without an end, its tasks read them until the time of the batch is over, and their offsets are merged into the
  * end of the batch, which Spark logs after the sink has committed.
  *
  * Names interfaces of Spark 4.1: only `kit.source.RealTime` creates it.
  */
final class RealTimeSourceStream[P] private[source] (
    source: ContinuousSource[P],
    initial: InitialOffset,
    clock: Clock,
    eventTime: Option[EventTime])
    extends SourceStream(source, initial, clock, eventTime)
    with SupportsRealTimeMode
    with CountedStream {

  private var realTime = false
  private var leads = false

  /** Spark logs the end of a batch after the sink has committed it. An earlier run may then log its end under the number of a
    * batch that a later one runs again, to another end: so no run ends a batch once a later one has begun.
    */
  private lazy val runs = initial.beside("real-time")
  private lazy val generation = Generation.claim(runs, UUID.randomUUID().toString.replace("-", ""), 0L)((_, _) => ())

  override def prepareForRealTimeMode(): Unit = realTime = true

  /** A real-time batch has no end yet. If this returned null, Spark would read nothing for the length of that batch. */
  override def latestOffset(start: Offset, limit: ReadLimit): Offset =
    if (realTime) start else super.latestOffset(start, limit)

  override def planInputPartitions(start: Offset): Array[InputPartition] = QueryStop.guard {
    begin(position(start), position(start))
    // A sink that claims its run does so later, and may refuse the query.
    if (!RunningQuery.hasClaimingSink) lead()
    source.endlessPartitions(reached(start)).map(new RealTimePartition(_))
  }

  override def regrouped: Boolean = source.regrouped

  override def keepPartitions(): Unit = QueryStop.guard {
    lead()
    source.keepPartitions()
  }

  /** Takes the place of an earlier run, once source and sink are open. An earlier run that has logged the epoch which this one is
    * about to run keeps it.
    */
  private def lead(): Unit = if (!leads) {
    refuseLogged()
    generation: Unit
    // Until the claim the earlier run could still log it.
    refuseLogged()
    initial.realTimeRuns.begin()
    leads = true
  }

  private def refuseLogged(): Unit = for {
    epoch <- RunningQuery.currentEpoch
    epochs <- initial.epochs
    _ <- epochs.lastLogged.filter(_ >= epoch)
  } throw supersededError

  private def supersededError = Conditions.RunSuperseded("source" -> source.name, "path" -> runs)

  override def mergeOffsets(offsets: Array[PartitionOffset]): Offset = QueryStop.guard {
    val end = merged(source, offsets)
    source.lookAhead(end)
    looked(end)
    if (!generation.isOwn) throw supersededError
    offset(end)
  }

  /** For both modes: a partition knows the mode that planned it. */
  override def createReaderFactory(): PartitionReaderFactory =
    QueryStop.guard(new RealTimeReaders(readers, endlessReaders(source)))
}

final private class RealTimePartition(val endless: InputPartition) extends InputPartition {
  override def preferredLocations(): Array[String] = endless.preferredLocations()
}

final private class RealTimeReaders(batch: PartitionReaderFactory, endless: EndlessReaderFactory)
    extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case real: RealTimePartition => new RealTimeReader(endless.createReader(real.endless))
    case partition               => batch.createReader(partition)
  }

  override def supportColumnarReads(partition: InputPartition): Boolean = partition match {
    case _: RealTimePartition => false
    case partition            => batch.supportColumnarReads(partition)
  }

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    batch.createColumnarReader(partition)
}

/** Reads until the batch's time is over. Spark's method differs by version: 4.1 calls it with one argument, later versions with
  * two; no version has both, so one of them overrides nothing.
  */
final private class RealTimeReader(reader: EndlessReader)
    extends PartitionReader[InternalRow]
    with SupportsRealTimeRead[InternalRow] {

  override def next(): Boolean = reader.next(Long.MaxValue)

  /** Spark 4.1. */
  def nextWithTimeout(timeoutMillis: JavaLong): RecordStatus = status(reader.next(math.max(0L, timeoutMillis)))

  /** Spark 4.2 and later also pass the time of the call, which is now. */
  override def nextWithTimeout(startMillis: JavaLong, timeoutMillis: JavaLong): RecordStatus =
    nextWithTimeout(timeoutMillis)

  override def get(): InternalRow = reader.get()

  override def getOffset: PartitionOffset = reader.offset

  override def close(): Unit = reader.close()

  private def status(found: Boolean) = if (found) RealTimeReader.Row else RealTimeReader.NoRow
}

private object RealTimeReader {
  private val Row = RecordStatus.newStatusWithoutArrivalTime(true)
  private val NoRow = RecordStatus.newStatusWithoutArrivalTime(false)
}
