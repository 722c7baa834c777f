package io.epochal.kit.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}

import io.epochal.core.error.EpochalException
import io.epochal.core.limit.ReadLimit

/** What a connector says of a source, on the driver, to have a [[SourceStream]] of it: who it is, how its positions are written,
  * and its [[Supply]]. Everything else is the stream's.
  */
trait Source[P] extends PositionCodec[P] {

  /** Spark's progress calls the source by this. */
  def name: String

  /** How much one batch takes, unless Spark says otherwise. */
  def limit: ReadLimit

  /** The column that says when a row's event was, where the user named one: its highest value is kept in the offsets. */
  def eventTimeColumn: Option[String] = None

  /** The position before the first row. Asked once in the life of a query. */
  def first: P

  /** One for the life of the stream. */
  def supply: Supply[P]

  /** Reads any partition that the supply plans. Spark asks for it before or after it has a batch planned. */
  def readerFactory: PartitionReaderFactory

  /** What bounds a poll, for supplies that receive rows. */
  def polls: PollBudgets = PollBudgets.Unbounded

  /** What was received since the start of the run, for people who wait for a poll; None where polls are quick. */
  def received: Option[String] = None

  /** The source's own entries in every progress, beside the lag or in place of it; those that are numbers are in Spark's metrics
    * system, too. Asked by any thread.
    */
  def metrics(rowsBehind: Option[Long]): Map[String, String]

  /** Names of numbers in `metrics` that are not there yet when the first batch begins. */
  def laterMetrics: Set[String] = Set.empty
}

/** What is known of an origin's end, in rows counted from 0: it has those below `exists`, and none at `ends` or above.
  *
  * @param ends
  *   Long.MaxValue while nothing is known
  */
final case class Extent(exists: Long, ends: Long = Long.MaxValue) {
  def exact: Boolean = exists == ends
}

/** Where the rows of a stream come from, on the driver: finds the end, and splits what lies before it.
  *
  * One thread at a time, but `known` and `latest`, which are for all.
  *
  * @tparam P
  *   a position in the stream, an immutable value; exclusive, as offsets are
  */
trait Supply[P] extends AutoCloseable {

  /** How many rows after a position can be delivered, and no more than `most`. Never below 0.
    *
    * @throws io.epochal.core.error.EpochalException
    *   DATA_LOSS where the origin has lost rows that it had, and the errors of a request
    */
  def available(start: P, most: Long): Long

  /** How many rows after a position come to so many bytes together, for limits of bytes; of rows that have no size, all. */
  def rowsWithin(start: P, bytes: Long): Long = Long.MaxValue

  /** The position after `rows` of those that are available after `start`. What lies before it can be read again from now on. */
  def take(start: P, rows: Long): P

  /** The rows between two positions, shared out. Depends on nothing but the two: the same rows whenever it is asked. */
  def partitions(start: P, end: P): Array[InputPartition]

  /** How many rows lie before a position, as `known` counts them. */
  def rowsBefore(position: P): Long

  /** What the last poll found; None before the first. */
  def known: Option[Extent]

  /** The position at the end of what is known. */
  def latest: Option[P]

  /** Whether the last poll found no row and is to be logged all the same, so that what it passed is not passed again. */
  def paused: Boolean = false

  /** Trigger.AvailableNow: the run ends where a poll first sees the end, so that is looked for at once where it can be. */
  def freezeEnd(): Unit = ()

  /** Says that what lies before a position was delivered. It may be said twice, and Spark may still replay the last batch. */
  def release(end: P): Unit

  override def close(): Unit = ()
}

/** How a source's positions are logged. */
trait PositionCodec[P] {

  /** An offset of this source, as `core.offset.OffsetFormat` writes it. */
  def toJson(position: P): String

  /** Left where it is no offset of this source: OFFSET_INVALID, OFFSET_VERSION_UNSUPPORTED, SOURCE_CHANGED. */
  def fromJson(json: String): Either[EpochalException, P]
}

/** A source that can be read by continuous and real-time queries as well. Its partitions have no end; Spark decides while they are
  * read where an epoch ends, and merges the offsets at which their readers stand then.
  *
  * Not guaranteed: that an epoch which is run again ends where it did before. Neither mode replays a range: a restart begins at the
  * end of the last epoch that Spark logged as committed.
  */
trait ContinuousSource[P] extends Source[P] {

  /** The partitions after a position, each without an end. A continuous query asks once in a run, and again where
    * [[needsReconfiguration]]; a real-time query at every epoch.
    */
  def endlessPartitions(start: P): Array[InputPartition]

  def endlessReaders: EndlessReaderFactory

  /** One position of all partitions' offsets at the end of an epoch, which come in any order. */
  def merge(offsets: Seq[PartitionOffset]): P

  /** Whether the partitions must be planned anew, from the end of an epoch that was merged. Asked often, by any thread. */
  def needsReconfiguration: Boolean = false

  /** Finds the origin's end, for the lag of an epoch that ended at a position: `supply.known` and `latest` report it from then on.
    * Must be quick, and throw nothing; to be left as it is where looking costs more than that.
    */
  def lookAhead(end: P): Unit = ()
}

/** Travels to the executors. */
trait EndlessReaderFactory extends Serializable {

  /** A reader of one of the source's endless partitions; reads in one thread. */
  def createReader(partition: InputPartition): EndlessReader
}

/** Rows of a partition that has no end. An interrupt ends a wait as an InterruptedException. */
trait EndlessReader extends AutoCloseable {

  /** Goes to the next row, and waits for it where it is not there yet.
    *
    * @param timeoutMillis
    *   waits at most so long; 0: not at all; Long.MaxValue: until there is one
    * @return
    *   false where none came in time: the reader stands where it stood
    */
  def next(timeoutMillis: Long): Boolean

  /** The row that `next` went to; valid until it is called again. */
  def get(): InternalRow

  /** The position after the row of `get`, or where the partition began: exclusive, as every offset. */
  def offset: PartitionOffset
}
