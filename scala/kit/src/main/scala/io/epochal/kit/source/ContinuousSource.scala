package io.epochal.kit.source

import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming._

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
