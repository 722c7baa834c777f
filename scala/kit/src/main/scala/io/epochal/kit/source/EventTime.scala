package io.epochal.kit.source

import java.lang.{Long => JavaLong}
import java.time.{Clock, Duration, Instant}
import java.util.Locale
import java.util.concurrent.atomic.AtomicLong

import scala.util.Try
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.apache.spark.sql.connector.read.{PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types.{DataType, DateType, StructType, TimestampNTZType, TimestampType}
import org.apache.spark.util.AccumulatorV2
import org.slf4j.LoggerFactory

import io.epochal.core.error.EpochalException
import io.epochal.core.journal.FileStore
import io.epochal.core.option.{OptionValues, SourceOptions}

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
    kept: KeptMark,
    clock: Clock,
    highest: HighestEventTime = new HighestEventTime) {

  kept.read().foreach(highest.add(_))

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
    val (of, seen) = (column, highest)
    partition => new EventTimeReader(factory.createReader(partition), of, seen)
  }

  def readers(factory: EndlessReaderFactory): EndlessReaderFactory = {
    val of = column
    partition => new EndlessEventTimeReader(factory.createReader(partition), of)
  }

  /** The source's own offsets within those that endless readers have reported. */
  def merged(offsets: Seq[PartitionOffset]): Seq[PartitionOffset] = offsets.map {
    case marked: MarkedPartitionOffset =>
      highest.add(marked.highest)
      marked.offset
    case other => other
  }

  /** Leaves the mark to the next run. */
  def close(): Unit = highest.known.foreach(kept.write)
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

/** The mark at the end of a run. No offset has it: the offset of the last batch was logged before the rows of that batch were
  * read.
  *
  * It is an empty file in the stream's part of the checkpoint, `event-time/<microseconds since 1970>`; the highest one counts.
  * It never affects which rows are read: a killed run leaves none, and a failure to write or read it is only logged.
  */
final private[source] class KeptMark(store: FileStore) {

  def read(): Option[Long] = quietly(Option.empty[Long])(KeptMark.highest(store.names()))

  /** Writes a mark, and removes lower ones. */
  def write(mark: Long): Unit = quietly(()) {
    val before = store.names()
    if (!KeptMark.highest(before).exists(_ >= mark)) {
      store.create(mark.toString).close()
      before.foreach(store.delete)
    }
  }

  private def quietly[A](otherwise: A)(body: => A): A =
    try body
    catch {
      case NonFatal(error) =>
        KeptMark.log.warn(s"The event time of the run's last batch could not be written to $store: $error")
        otherwise
    }
}

private[epochal] object KeptMark {
  private val log = LoggerFactory.getLogger(classOf[KeptMark])

  /** In the stream's part of the checkpoint. */
  val Directory = "event-time"

  /** The highest mark among file names. */
  def highest(names: Seq[String]): Option[Long] = names.flatMap(_.toLongOption).maxOption
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

/** The column with a row's event time, by its index. Serialized to the executors. */
final private[source] case class EventTimeColumn(ordinal: Int, isDate: Boolean) {

  /** Microseconds since 1970; `EventTimeColumn.Absent` for NULL. A DATE is its midnight in UTC, and a TIMESTAMP_NTZ is taken as
    * UTC.
    */
  def of(row: InternalRow): Long =
    if (row.isNullAt(ordinal)) EventTimeColumn.Absent
    else if (isDate) row.getInt(ordinal) * EventTimeColumn.MicrosPerDay
    else row.getLong(ordinal)
}

private[source] object EventTimeColumn {

  /** Below every time that a column can have. */
  val Absent: Long = Long.MinValue

  private val MicrosPerDay = 86400000000L

  /** The column with this name: in this spelling, else the only one that differs by case alone. */
  def of(name: String, schema: StructType): Option[EventTimeColumn] = {
    def only(same: String => Boolean) = schema.fields.indices.filter(i => same(schema(i).name)) match {
      case Seq(one) => Some(one)
      case _        => None
    }
    only(_ == name)
      .orElse(only(_.equalsIgnoreCase(name)))
      .filter(i => isTime(schema(i).dataType))
      .map(i => EventTimeColumn(i, schema(i).dataType == DateType))
  }

  /** The error for an event time column that a source with these columns lacks, if it does. */
  def refused(values: OptionValues, schema: StructType): Option[EpochalException] =
    for {
      name <- values.get(SourceOptions.EventTimeColumn)
      if of(name, schema).isEmpty
    } yield {
      val times = schema.filter(field => isTime(field.dataType)).map(_.name)
      val there = if (times.isEmpty) "it has none" else s"it has ${times.mkString(", ")}"
      val expected = s"a column of the source of type TIMESTAMP, TIMESTAMP_NTZ or DATE ($there)"
      val spec = SourceOptions.EventTimeColumn
      val example = times.headOption.fold(spec)(first => spec.copy(sample = Some(first)))
      values.group.invalid(example, name, expected, times)
    }

  private def isTime(kind: DataType): Boolean = kind == TimestampType || kind == TimestampNTZType || kind == DateType
}
