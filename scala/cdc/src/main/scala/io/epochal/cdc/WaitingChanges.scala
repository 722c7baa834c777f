package io.epochal.cdc

import scala.collection.mutable
import scala.util.{Try, Using}

import io.epochal.cdc.change.FrameReader
import io.epochal.core.journal.FileStore
import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.kit.source.journal.JournalFrames

/** When the oldest change that no epoch has stored yet was committed in the source, in microseconds since 1970. Called by several
  * threads.
  *
  * @param firstRow
  *   of this run
  * @param committedAt
  *   reads the time of an earlier row from the journal; None: it is gone
  */
final private[cdc] class WaitingChanges(firstRow: Long, committedAt: Long => Option[Long]) {

  /** For each frame of this run the row after it, and the time of its first transaction. */
  private val frames = mutable.Queue.empty[(Long, Long)]
  @volatile private var earlier = (-1L, Option.empty[Long])

  def add(until: Long, time: Long): Unit = synchronized(frames.enqueue(until -> time): Unit)

  /** Forgets the changes before a row. */
  def drop(row: Long): Unit = synchronized {
    while (frames.headOption.exists(_._1 <= row)) frames.dequeue(): Unit
  }

  /** @param row
    *   the one after the last stored
    * @return
    *   None if nothing waits; None within: the time is not known
    */
  def oldest(row: Long): Option[Option[Long]] =
    if (row < firstRow) {
      if (earlier._1 != row) earlier = row -> committedAt(row)
      Some(earlier._2)
    } else synchronized(frames.find(_._1 > row).map { case (_, time) => Some(time) })
}

private[cdc] object WaitingChanges {

  /** Those of a run that has taken over a journal. */
  def of(journal: AcknowledgedJournal, store: FileStore, options: CdcOptions): WaitingChanges = {
    def committedAt(row: Long) = Try {
      val slices = journal.plan(row, row + 1).slices.iterator
      Using.resource(new JournalFrames(slices, store, options.source, options.lost)) { frames =>
        var bytes = Array.emptyByteArray
        frames.next { length => bytes = new Array[Byte](length); bytes }.map { slice =>
          val parts = new FrameReader(bytes, slice.frame.length).parts.toSeq
          val ends = parts.scanLeft(0)(_ + _.rows).tail
          parts(ends.indexWhere(_ > slice.skip)).stored.transaction.committedAt
        }
      }
    }
    new WaitingChanges(journal.until, committedAt(_).toOption.flatten)
  }
}
