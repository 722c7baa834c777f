package io.epochal.kit.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.PartitionOffset

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

  /** Looks how far the origin is, for the lag in the progress of an epoch that ended at a position: `supply.known` and `latest` tell
    * it then. Must be quick, and throw nothing; to be left as it is where looking costs more than that.
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
