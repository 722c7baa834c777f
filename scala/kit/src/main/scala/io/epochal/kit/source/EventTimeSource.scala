package io.epochal.kit.source

import java.time.{Clock, Duration}
import java.util.Locale

import org.apache.spark.SparkContext
import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.EpochalException
import io.epochal.core.limit.ReadLimit
import io.epochal.kit.source.time.{EventTimeColumn, EventTimeMark, EventTimeReaderFactory, HighestEventTime, KeptMark}

/** A position with its mark: the highest event time of the rows before it.
  *
  * @param mark
  *   microseconds since 1970; None: no row with an event time was delivered
  */
final case class MarkedPosition[P](position: P, mark: Option[Long])

/** A source whose offsets and progress say how far it has come in event time (S9).
  *
  * A micro-batch's offset is logged before its rows are read: it has the mark of the rows before that batch. Its progress has the mark
  * with them. An epoch of a continuous or real-time query ends with the mark of its rows: their readers report it with their
  * offsets. The mark never goes back, and NULLs do not count. A run that ends leaves its mark to the next one ([[KeptMark]]).
  *
  * Not guaranteed: that the mark is Spark's watermark, which the plan computes with the delay that a query names; that a run
  * knows the mark of the last micro-batch of one before it that was killed. A row that is wrongly dated in
  * the future stays the mark.
  */
private[source] class EventTimeSource[P](
    source: Source[P],
    column: EventTimeColumn,
    highest: HighestEventTime,
    kept: KeptMark,
    clock: Clock
) extends Source[MarkedPosition[P]] {

  override def name: String = source.name

  override def limit: ReadLimit = source.limit

  override def eventTimeColumn: Option[String] = source.eventTimeColumn

  override def first: MarkedPosition[P] = MarkedPosition(source.first, None)

  override def toJson(at: MarkedPosition[P]): String = EventTimeMark.write(source.toJson(at.position), at.mark)

  override def fromJson(json: String): Either[EpochalException, MarkedPosition[P]] =
    source.fromJson(json).map(MarkedPosition(_, EventTimeMark.read(json)))

  override val supply: Supply[MarkedPosition[P]] = new EventTimeSupply(source.supply, highest, kept)

  override def readerFactory: PartitionReaderFactory =
    new EventTimeReaderFactory(source.readerFactory, column, highest)

  override def polls: PollBudgets = source.polls

  override def received: Option[String] = source.received

  override def metrics(rowsBehind: Option[Long]): Map[String, String] =
    source.metrics(rowsBehind) ++ highest.known.map(EventTimeMark.instant).fold(Map.empty[String, String]) { mark =>
      val seconds = Duration.between(mark, clock.instant()).toMillis / 1000.0
      Map("eventTime" -> mark.toString, EventTimeSource.Lag -> "%.3f".formatLocal(Locale.ROOT, seconds))
    }

  override def laterMetrics: Set[String] = source.laterMetrics + EventTimeSource.Lag
}

private[source] object EventTimeSource {

  /** Seconds between the mark and now; below 0 where the mark is ahead of the clock. */
  private val Lag = "eventTimeLag"

  /** The source with marks, where its user named a column. */
  def of[P](
      source: Source[P],
      schema: StructType,
      checkpoint: InitialOffset,
      spark: => SparkContext,
      clock: Clock): Source[_] =
    source.eventTimeColumn.flatMap(EventTimeColumn.of(_, schema)).fold[Source[_]](source) { column =>
      val highest = new HighestEventTime
      spark.register(highest)
      watched(source, column, highest, new KeptMark(checkpoint.beside(KeptMark.Directory)), clock)
    }

  def watched[P](
      source: Source[P],
      column: EventTimeColumn,
      highest: HighestEventTime,
      kept: KeptMark,
      clock: Clock): EventTimeSource[P] = source match {
    case endless: ContinuousSource[P] => new EndlessEventTimeSource(endless, column, highest, kept, clock)
    case other                        => new EventTimeSource(other, column, highest, kept, clock)
  }
}

/** The same of a source that is read by continuous and real-time queries as well. */
final private[source] class EndlessEventTimeSource[P](
    source: ContinuousSource[P],
    column: EventTimeColumn,
    highest: HighestEventTime,
    kept: KeptMark,
    clock: Clock
) extends EventTimeSource[P](source, column, highest, kept, clock)
    with ContinuousSource[MarkedPosition[P]] {

  override def endlessPartitions(start: MarkedPosition[P]): Array[InputPartition] = {
    start.mark.foreach(highest.add(_))
    source.endlessPartitions(start.position)
  }

  override def endlessReaders: EndlessReaderFactory = new EndlessEventTimeReaders(source.endlessReaders, column)

  override def merge(offsets: Seq[PartitionOffset]): MarkedPosition[P] = {
    val plain = offsets.map {
      case marked: MarkedPartitionOffset =>
        highest.add(marked.highest)
        marked.offset
      case other => other
    }
    MarkedPosition(source.merge(plain), highest.known)
  }

  override def needsReconfiguration: Boolean = source.needsReconfiguration

  override def lookAhead(end: MarkedPosition[P]): Unit = source.lookAhead(end.position)
}

final private class EventTimeSupply[P](supply: Supply[P], highest: HighestEventTime, kept: KeptMark)
    extends Supply[MarkedPosition[P]] {

  kept.read().foreach(highest.add(_))

  override def available(start: MarkedPosition[P], most: Long): Long = {
    start.mark.foreach(highest.add(_))
    supply.available(start.position, most)
  }

  override def rowsWithin(start: MarkedPosition[P], bytes: Long): Long = supply.rowsWithin(start.position, bytes)

  override def take(start: MarkedPosition[P], rows: Long): MarkedPosition[P] =
    MarkedPosition(supply.take(start.position, rows), highest.known)

  override def partitions(start: MarkedPosition[P], end: MarkedPosition[P]): Array[InputPartition] = {
    end.mark.foreach(highest.add(_))
    supply.partitions(start.position, end.position)
  }

  override def rowsBefore(at: MarkedPosition[P]): Long = supply.rowsBefore(at.position)

  override def known: Option[Extent] = supply.known

  override def latest: Option[MarkedPosition[P]] = supply.latest.map(MarkedPosition(_, None))

  override def paused: Boolean = supply.paused

  override def freezeEnd(): Unit = supply.freezeEnd()

  override def release(end: MarkedPosition[P]): Unit = supply.release(end.position)

  override def close(): Unit =
    try highest.known.foreach(kept.write)
    finally supply.close()
}
