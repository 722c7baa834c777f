package io.epochal.kit.source.journal

import java.time.Duration

import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.PartitionOffset

import io.epochal.kit.source.{ContinuousSource, EndlessReaderFactory, PositionCodec}

/** How a journalled supply may be read by tasks that have no end.
  *
  * @param log
  *   of the feed
  * @param pause
  *   between two polls, where the first left nothing
  */
final case class Feeding[P](log: FeedLog, codec: PositionCodec[P], pause: Duration)

/** A source that receives its rows into a journal, in continuous and real-time queries as well: the driver receives on and on, and one
  * task follows the end of the journal.
  */
trait FedSource[P] extends ContinuousSource[P] {

  /** Receives from now on without being asked, behind a position from which a task reads on.
    *
    * @return
    *   the row at which the task begins
    */
  protected def follow(start: P): Long

  /** The position at a row that a task has read up to. */
  protected def followedTo(row: Long): P

  protected def feedRows: FeedRows

  final override def endlessPartitions(start: P): Array[InputPartition] = Array(FeedPartition(follow(start)))

  final override def endlessReaders: EndlessReaderFactory = new FeedReaders(feedRows)

  final override def merge(offsets: Seq[PartitionOffset]): P =
    followedTo(offsets.collect { case FeedOffset(row) => row }.max)
}

/** A [[FedSource]] that asks its origin. */
trait JournalledSource[P] extends FedSource[P] {

  /** The supply, which has a [[Feeding]]. */
  protected def journalled: JournalledSupply[P, _]

  final override protected def follow(start: P): Long = journalled.follow(start)

  final override protected def followedTo(row: Long): P = journalled.followedTo(row)
}
