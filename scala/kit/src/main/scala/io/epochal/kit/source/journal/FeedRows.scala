package io.epochal.kit.source.journal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

import io.epochal.core.journal.Slice
import io.epochal.kit.store.HadoopFileStore

/** Creates rows from what a feed has received. */
trait FeedRows extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case JournalPartition(slices) => rows(slices.iterator)
    case other                    => throw new IllegalArgumentException(s"not a partition of $source: $other")
  }

  /** The journal's directory. */
  def store: HadoopFileStore

  /** The identity that offsets carry. */
  def source: String

  def rows(slices: Iterator[Slice]): JournalRows

  /** The frames of slices of the feed's journal. */
  final protected def frames(slices: Iterator[Slice]): JournalFrames =
    new JournalFrames(slices, store, source, lost(_, _, _))

  /** As in [[SourceJournal]]. */
  def lost(from: Long, until: Long, reason: String): String
}
