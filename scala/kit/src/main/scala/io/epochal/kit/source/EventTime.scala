package io.epochal.kit.source

import java.lang.{Long => JavaLong}
import java.time.{Clock, Duration, Instant}
import java.util.Locale
import java.util.concurrent.atomic.AtomicLong

import scala.util.Try

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.apache.spark.sql.connector.read.{PartitionReader, PartitionReaderFactory}
import org.apache.spark.util.AccumulatorV2

/** The event time of a stream: its mark is the highest event time of the delivered rows. Offsets carry it beside the
  * source's own fields, `"eventTime":"2026-01-01T00:00:00Z"`, and the progress reports it with its lag.
  *
  * A micro-batch's offset is logged before its rows are read: it has the mark before that batch. Its progress has the mark with
  * the batch's rows. An epoch of a continuous or real-time query ends with the mark of its rows: their readers report it with
  * their offsets. The mark never decreases, and NULLs do not count. A run that ends leaves its mark to the next one
  * ([[KeptMark]]).
  *
  * Not guaranteed: that the mark is Spark's watermark, which the plan computes with the query's delay; that a run knows the
  * mark of the last micro-batch of a killed run. A row with a wrong date in the future stays the mark.
  *
  * @param highest
  *   registered with Spark, if tasks run in other processes
  */
final private[source] class EventTime(
    column: EventTimeColumn,
    keptMark: KeptMark,
    clock: Clock,
    highest: HighestEventTime = new HighestEventTime) {

  keptMark.read().foreach(highest.add(_))

  /** The JSON of an offset, with the mark. */
  def mark(json: String): String = EventTime.write(json, highest.known)

  /** Resumes from the mark of an offset. */
  def reached(json: String): Unit = EventTime.read(json).foreach(highest.add(_))

  def metrics: Map[String, String] = highest.known.map(EventTime.instant).fold(Map.empty[String, String]) { mark =>
    val seconds = Duration.between(mark, clock.instant()).toMillis / 1000.0
    Map("eventTime" -> mark.toString, EventTime.Lag -> "%.3f".formatLocal(Locale.ROOT, seconds))
  }

  /** Readers that observe the event time of each delivered row. */
  def readers(factory: PartitionReaderFactory): PartitionReaderFactory = {
    val (of, highestTime) = (column, highest)
    partition => new EventTimeReader(factory.createReader(partition), of, highestTime)
  }

  def readers(factory: EndlessReaderFactory): EndlessReaderFactory = {
    val of = column
    partition => new EndlessEventTimeReader(factory.createReader(partition), of)
  }

  /** The source's own offsets within those that endless readers have reported. */
  def merged(offsets: Seq[PartitionOffset]): Seq[PartitionOffset] = offsets.map {
    case offset: MarkedPartitionOffset =>
      highest.add(offset.highest)
      offset.offset
    case other => other
  }

  /** Leaves the mark to the next run. */
  def close(): Unit = highest.known.foreach(keptMark.write)
}

private[epochal] object EventTime {
  private val Field = "eventTime"

  /** Seconds between the mark and now; negative if the mark is ahead of the clock. */
  private[source] val Lag = "eventTimeLag"

  private val mapper = new ObjectMapper
  private val PerSecond = 1000000L

  /** Adds the mark to an offset.
    *
    * @param micros
    *   since 1970; None: no row with an event time was delivered, and the text stays as it is
    */
  def write(json: String, micros: Option[Long]): String = micros.fold(json) { mark =>
    mapper.readTree(json) match {
      case fields: ObjectNode => mapper.writeValueAsString(fields.put(Field, instant(mark).toString))
      case _                  => json
    }
  }

  /** The mark of an offset; None also if the field is not an event time. */
  def read(json: String): Option[Long] =
    if (!json.contains(Field)) None
    else
      for {
        fields <- Try(mapper.readTree(json)).toOption
        text <- Option(fields.get(Field)).filter(_.isTextual)
        mark <- Try(micros(Instant.parse(text.textValue))).toOption
      } yield mark

  private def instant(micros: Long): Instant =
    Instant.ofEpochSecond(Math.floorDiv(micros, PerSecond), Math.floorMod(micros, PerSecond) * 1000L)

  private def micros(at: Instant): Long =
    Math.addExact(Math.multiplyExact(at.getEpochSecond, PerSecond), at.getNano / 1000L)
}

/** The highest event time of the delivered rows, in microseconds since 1970. An accumulator: the driver receives a task's value
  * when the task ends, and ignores that of a failed attempt.
  */
final private[source] class HighestEventTime extends AccumulatorV2[JavaLong, JavaLong] {
  private val highest = new AtomicLong(EventTimeColumn.Absent)

  /** One thread writes, others read. */
  def see(micros: Long): Unit = if (micros > highest.get) highest.setOpaque(micros)

  /** None: no row had an event time. */
  def known: Option[Long] = Some(highest.get).filter(_ != EventTimeColumn.Absent)

  override def add(micros: JavaLong): Unit = highest.accumulateAndGet(micros, math.max(_, _)): Unit

  override def value: JavaLong = highest.get

  override def merge(other: AccumulatorV2[JavaLong, JavaLong]): Unit = add(other.value)

  override def isZero: Boolean = highest.get == EventTimeColumn.Absent

  override def reset(): Unit = highest.set(EventTimeColumn.Absent)

  override def copy(): HighestEventTime = {
    val same = new HighestEventTime
    same.add(value)
    same
  }
}

/** Spark calls `get` once for each row. */
final private class EventTimeReader(
    reader: PartitionReader[InternalRow],
    column: EventTimeColumn,
    highest: HighestEventTime
) extends PartitionReader[InternalRow] {

  override def next(): Boolean = reader.next()

  override def get(): InternalRow = {
    val row = reader.get()
    highest.see(column.of(row))
    row
  }

  override def currentMetricsValues(): Array[CustomTaskMetric] = reader.currentMetricsValues()

  override def close(): Unit = reader.close()
}

/** The offset of an endless reader, with the highest event time of its delivered rows.
  *
  * @param highest
  *   microseconds since 1970, or `EventTimeColumn.Absent`
  */
final private case class MarkedPartitionOffset(offset: PartitionOffset, highest: Long) extends PartitionOffset

/** A row counts once it is delivered: Spark calls `offset` after it has taken the row. */
final private class EndlessEventTimeReader(reader: EndlessReader, column: EventTimeColumn) extends EndlessReader {
  private var highest = EventTimeColumn.Absent

  override def next(timeoutMillis: Long): Boolean = reader.next(timeoutMillis)

  override def get(): InternalRow = {
    val row = reader.get()
    highest = math.max(highest, column.of(row))
    row
  }

  override def offset: PartitionOffset = MarkedPartitionOffset(reader.offset, highest)

  override def close(): Unit = reader.close()
}
