package io.epochal.kit.source

import java.time.Duration

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionValues, SourceOptions}

/** A connector's source on the driver, as a [[SourceStream]] uses it: its identity, the format of its positions, and its
  * [[Supply]]. The stream does the rest.
  */
trait Source[P] extends PositionCodec[P] {

  /** The name in Spark's progress. */
  def name: String

  /** The limit of one batch, unless Spark sets another. */
  def limit: ReadLimit

  /** The column with a row's event time, if the user set one: its highest value is kept in the offsets. */
  def eventTimeColumn: Option[String] = None

  /** The position before the first row. Called once in the life of a query, unless it is constant. */
  def first: P

  /** Whether `first` is the same whenever it is called. */
  def isFirstConstant: Boolean = false

  /** Opens what the source holds until `supply.close`, such as a port. Called before the first batch, when the whole plan exists: if
    * planning fails, Spark stops none of the streams that it has created. A source that cannot open is opened again by the next call.
    *
    * @param start
    *   of the first batch
    * @param logged
    *   the last position that Spark has logged
    */
  def open(start: P, logged: P): Unit = ()

  /** The application ends, and may never stop the query: releases what must not be held any longer. Called by a thread of Spark,
    * also while others use the source.
    */
  def applicationEnded(): Unit = ()

  /** The supply, for the life of the stream. */
  def supply: Supply[P]

  /** Reads any partition that the supply plans. Spark calls it before or after it has a batch planned. */
  def readerFactory: PartitionReaderFactory

  /** The limits of a poll, for supplies that receive rows. */
  def polls: PollBudgets = PollBudgets.Unbounded

  /** The amount received since the start of the run, for people who wait for a poll; None if polls are quick. */
  def received: Option[String] = None

  /** The source's own entries in every progress, beside or in place of the lag; numbers are in Spark's metrics system, too.
    * Called by any thread.
    */
  def metrics(rowsBehind: Option[Long]): Map[String, String]
}

/** The known end of an origin, in rows counted from 0: rows below `exists` exist, rows from `ends` on do not.
  *
  * @param ends
  *   Long.MaxValue while the end is unknown
  */
final case class Extent(exists: Long, ends: Long = Long.MaxValue) {
  def exact: Boolean = exists == ends
}

/** Supplies the rows of a stream, on the driver: finds the end, and splits the rows before it.
  *
  * One thread at a time, except `known` and `latest`, which any thread may call.
  *
  * @tparam P
  *   a position in the stream, an immutable value; exclusive, as offsets are
  */
trait Supply[P] extends AutoCloseable {

  /** The number of rows after a position that can be delivered, at most `most`. Never negative.
    *
    * @throws io.epochal.core.error.EpochalException
    *   DATA_LOSS if the origin has lost rows, and the errors of a request
    */
  def available(start: P, most: Long): Long

  /** The number of rows after a position that fit into so many bytes, for byte limits; all rows, if they have no size. */
  def rowsWithin(start: P, bytes: Long): Long = Long.MaxValue

  /** The position after `rows` of the rows available after `start`. From now on the rows before it can be read again. */
  def take(start: P, rows: Long): P

  /** Divides the rows between two positions among tasks. Depends on the two positions only: every call yields the same rows. */
  def partitions(start: P, end: P): Array[InputPartition]

  /** The number of rows before a position, as `known` counts them. */
  def rowsBefore(position: P): Long

  /** The result of the last poll; None before the first. */
  def known: Option[Extent]

  /** The position at the known end. */
  def latest: Option[P]

  /** Whether the last poll found no row but must be logged, so that the positions it skipped are not skipped again. */
  def paused: Boolean = false

  /** Trigger.AvailableNow: the run ends where a poll first sees the end; a supply that can, looks for it at once. */
  def freezeEnd(): Unit = ()

  /** Reports that the rows before a position are delivered. Calls may repeat a position, and Spark may still replay the last
    * batch.
    */
  def release(end: P): Unit

  override def close(): Unit = ()
}

/** The format of a source's positions in Spark's log. */
trait PositionCodec[P] {

  /** An offset of this source, as `core.offset.OffsetFormat` writes it. */
  def toJson(position: P): String

  /** Left if it is not an offset of this source: OFFSET_INVALID, OFFSET_VERSION_UNSUPPORTED, SOURCE_CHANGED. */
  def fromJson(json: String): Either[EpochalException, P]
}

/** A source for continuous and real-time queries too. Its partitions have no end; while they are read, Spark decides where an
  * epoch ends, and merges the offsets of their readers at that point.
  *
  * Not guaranteed: that an epoch which is rerun ends where it did before. Neither mode replays a range: a restart begins at the
  * end of the last epoch that Spark logged as committed.
  */
trait ContinuousSource[P] extends Source[P] {

  /** Why this stream's tasks must have an end, as the reason of an error; None: they need none. */
  def needsEnd: Option[String] = None

  /** The partitions after a position, each without an end. A continuous query calls it once in a run, and again after
    * [[needsReconfiguration]]; a real-time query at every epoch.
    *
    * A sink that stores rows in the middle of an epoch recognises them by their place in their partition. So partition n must
    * continue partition n of the offsets that were merged into the position, and after a restart at the same position deliver
    * the same rows in the same order; else the source is [[regrouped]].
    */
  def endlessPartitions(start: P): Array[InputPartition]

  /** Whether the partitions, as planned last, do not continue those that were kept last, although there may be as many. */
  def regrouped: Boolean = false

  /** Called before the tasks of a plan start, by a sink that will recognise its partitions after a restart. */
  def keepPartitions(): Unit = ()

  def endlessReaders: EndlessReaderFactory

  /** Merges all partitions' offsets at the end of an epoch, in any order, into one position. */
  def merge(offsets: Seq[PartitionOffset]): P

  /** Whether the partitions must be planned again, from the end of a merged epoch. Called often, by any thread. */
  def needsReconfiguration: Boolean = false

  /** Finds the origin's end, for the lag of an epoch that ended at a position: `supply.known` and `latest` report it from then
    * on. Must be quick, and throw nothing; leave it empty if looking is slow.
    */
  def lookAhead(end: P): Unit = ()
}

/** Serialized to the executors. */
trait EndlessReaderFactory extends Serializable {

  /** A reader of one of the source's endless partitions; reads in one thread. */
  def createReader(partition: InputPartition): EndlessReader
}

/** Rows of a partition without an end. An interrupt ends a wait with an InterruptedException. */
trait EndlessReader extends AutoCloseable {

  /** Moves to the next row, and waits for it if necessary.
    *
    * @param timeoutMillis
    *   the maximum wait; 0 does not wait, Long.MaxValue waits until there is a row
    * @return
    *   false if no row arrived in time; the reader has not moved
    */
  def next(timeoutMillis: Long): Boolean

  /** The current row; valid until `next` is called again. */
  def get(): InternalRow

  /** The position after the row of `get`, or the partition's start: exclusive, as every offset. */
  def offset: PartitionOffset
}

/** The limits of a poll: its duration, and the bytes of records. The page that exceeds a limit is received completely. */
final case class PollBounds(time: Duration, bytes: Long)

/** The remaining limits of one poll. Threads may share it.
  *
  * @param nanos
  *   a clock
  */
final class PollBudget(bounds: PollBounds, nanos: () => Long = () => System.nanoTime()) {
  private var begun = nanos()
  private var left = bounds.bytes

  /** Begins a poll. */
  def begin(): Unit = synchronized {
    begun = nanos()
    left = bounds.bytes
  }

  def spend(bytes: Long): Unit = synchronized(left -= bytes)

  def spent: Boolean = synchronized {
    left <= 0 || Duration.ofNanos(nanos() - begun).compareTo(bounds.time) >= 0
  }
}

/** The budgets of one stream.
  *
  * @param poll
  *   of the poll that Spark waits for
  * @param ahead
  *   of the receive while a batch runs
  */
final class PollBudgets(bounds: PollBounds, nanos: () => Long = () => System.nanoTime()) {
  val poll = new PollBudget(bounds, nanos)
  val ahead = new PollBudget(bounds, nanos)
}

object PollBudgets {

  /** For a stream whose polls only look for the end. */
  val Unbounded = new PollBudgets(PollBounds(Duration.ofSeconds(Long.MaxValue), Long.MaxValue))
}

/** Spark's limits on the part of a backlog that one micro-batch takes. */
object ReadLimits {

  /** The limit that the options set, with one of the source's own. */
  def of(values: OptionValues, own: Option[ReadLimit] = None): ReadLimit = {
    val most = values.get(SourceOptions.MaxRowsPerBatch).map(ReadLimit.maxRows(_))
    val least = values
      .get(SourceOptions.MinRowsPerBatch)
      .map(ReadLimit.minRows(_, values(SourceOptions.MaxBatchDelay).toMillis))
    (most ++ least ++ own).toArray match {
      case Array()     => ReadLimit.allAvailable()
      case Array(only) => only
      case several     => ReadLimit.compositeLimit(several)
    }
  }

  /** The error for a minimum that no batch can have. */
  private[source] def refused(values: OptionValues): Option[EpochalException] =
    for {
      most <- values.get(SourceOptions.MaxRowsPerBatch)
      least <- values.get(SourceOptions.MinRowsPerBatch) if least > most
    } yield values.conflict(
      s"{option:minRowsPerBatch=$least}, {option:maxRowsPerBatch=$most}",
      s"Set {option:minRowsPerBatch=$most}: a batch of so few rows would wait for {option:maxBatchDelay}.")

  /** The maximum number of rows that a limit can admit. A source that sends requests requests no more. */
  def ceiling(limit: ReadLimit): Long = limit match {
    case max: ReadMaxRows        => max.maxRows
    case all: CompositeReadLimit => all.getReadLimits.map(ceiling).minOption.getOrElse(Long.MaxValue)
    case _                       => Long.MaxValue
  }

  /** The number of rows to take now: 0 if there are none, or while a minimum waits. A limit that counts something else (files)
    * admits everything, and one in bytes at least one row: it never blocks a query.
    *
    * @param rows
    *   that are available
    * @param rowsWithin
    *   as in [[Supply]]
    * @param waited
    *   since the last batch with rows was planned; before the first one, since the query started
    */
  def admit(limit: ReadLimit, rows: Long, rowsWithin: Long => Long, waited: Duration): Long = limit match {
    case max: ReadMaxRows        => math.min(max.maxRows, rows)
    case max: ReadMaxBytes       => math.min(rows, math.max(1L, rowsWithin(max.maxBytes)))
    case min: ReadMinRows        => if (rows >= min.minRows || waited.toMillis >= min.maxTriggerDelayMs) rows else 0L
    case all: CompositeReadLimit => all.getReadLimits.map(admit(_, rows, rowsWithin, waited)).minOption.getOrElse(rows)
    case _                       => rows
  }
}
