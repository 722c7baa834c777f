package io.epochal.kit.source.journal

import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.PartitionOffset

import io.epochal.kit.source.{ContinuousSource, EndlessReaderFactory}

/** A source that receives its rows into a journal, for continuous and real-time queries too: the driver receives continuously,
  * and one task follows the end of the journal.
  */
trait FedSource[P] extends ContinuousSource[P] {

  /** Begins to receive continuously, after a position from which a task reads on.
    *
    * @return
    *   the row at which the task begins
    */
  protected def follow(start: P): Long

  /** The position at a row up to which a task has read. */
  protected def followedTo(row: Long): P

  protected def feedRows: FeedRows

  /** Whether a [[FeedLog]] shows the rows to tasks in other processes. */
  protected def isLogged: Boolean = false

  final override def endlessPartitions(start: P): Array[InputPartition] = Array(FeedPartition(follow(start)))

  final override def endlessReaders: EndlessReaderFactory = {
    val (feed, logged) = (feedRows, isLogged)
    partition =>
      partition match {
        case FeedPartition(row) => new FeedReader(feed, FeedView.of(feed, logged), row)
        case other              => throw new IllegalArgumentException(s"not a partition of a feed: $other")
      }
  }

  final override def merge(offsets: Seq[PartitionOffset]): P =
    followedTo(offsets.collect { case FeedOffset(row) => row }.max)
}

/** All rows from one on, without an end: one partition, with the rows in order of receipt. */
final private[journal] case class FeedPartition(row: Long) extends InputPartition

final private[journal] case class FeedOffset(row: Long) extends PartitionOffset
