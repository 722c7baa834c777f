package io.epochal.cdc

import scala.collection.mutable
import scala.util.{Try, Using}

import io.epochal.cdc.change.FrameReader
import io.epochal.core.journal.FileStore
import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.kit.source.journal.JournalFrames

/** The changes that no epoch has stored yet: when the oldest was committed in the source, in microseconds since 1970, and where the
  * last whole transaction ends. Called by several threads.
  *
  * @param firstRow
  *   of this run
  * @param wholeRow
  *   the row after the last whole transaction before; None: it is not known
  * @param committedAt
  *   reads the time of an earlier row from the journal; None: it is gone
  */
final private[cdc] class WaitingChanges(firstRow: Long, wholeRow: Option[Long], committedAt: Long => Option[Long]) {

  /** For each frame of this run the row after it, and the time of its first transaction. */
  private val frames = mutable.Queue.empty[(Long, Long)]
  @volatile private var earlier = (-1L, Option.empty[Long])

  /** The rows before which a batch ends. */
  private val cuts = mutable.SortedSet.empty[Long]

  /** The first rows of comparisons, and the rows after them. */
  private val comparisons = mutable.SortedMap.empty[Long, Long]

  /** The first row of a comparison whose last row has not come. */
  private var openComparison = Option.empty[Long]

  /** The row after the last one, and after the last whole transaction. */
  private var until = firstRow
  @volatile private var wholeUntil = wholeRow.getOrElse(0L)

  /** Whether it is known where the last whole transaction ends. */
  private def isKnown = wholeRow.nonEmpty || wholeUntil > 0

  /** Where a batch from a row on can end: with a whole transaction; or anywhere in one that fills the journal, or whose end cannot come
    * while it is not known where it begins.
    */
  def deliverableUntil(start: Long, isFull: Boolean, hasEnded: Boolean): Long = synchronized {
    if (wholeUntil > start || !(isFull || hasEnded && !isKnown)) wholeUntil else until
  }

  /** Ends the batch before a reload, unless the journal already has a part of the reload. */
  def cut(): Unit = synchronized(if (wholeUntil == until) cuts += until: Unit)

  /** The number of rows from one on that a batch may have at most. */
  def most(start: Long): Long = synchronized(cuts.minAfter(start + 1).fold(Long.MaxValue)(_ - start))

  /** The number of rows that a batch from one on has at least, regardless of limits: those of a comparison; 0: any. */
  def least(start: Long): Long = synchronized(comparisons.get(start).fold(0L)(_ - start))

  /** @param row
    *   the one after the frame
    */
  def add(row: Long, parts: Seq[FrameReader.Part]): Unit = synchronized {
    val last = parts.last
    if (last.isWhole) wholeUntil = row
    else if (parts.size > 1 || last.first == 0) wholeUntil = row - last.rows
    until = row
    parts.foldLeft(row - parts.map(_.rows).sum) { (from, part) =>
      if (!part.isComparison) endComparison(from)
      else if (part.first == 0) openComparison = Some(from)
      if (part.isComparison && part.isWhole) endComparison(from + part.rows)
      from + part.rows
    }: Unit
    frames.enqueue(row -> parts.head.stored.transaction.committedAt): Unit
  }

  /** The last transaction has ended, and all its rows are there. Called by the thread that adds. */
  def end(): Unit = if (wholeUntil != until) synchronized {
    wholeUntil = until
    endComparison(until)
  }

  /** A comparison is a batch of its own.
    *
    * @param row
    *   the one after it
    */
  private def endComparison(row: Long): Unit = {
    for (start <- openComparison) {
      comparisons += start -> row
      cuts ++= Seq(start, row)
    }
    openComparison = None
  }

  /** Forgets the changes before a row. */
  def drop(row: Long): Unit = synchronized {
    while (frames.headOption.exists(_._1 <= row)) frames.dequeue(): Unit
    cuts --= cuts.rangeUntil(row).toSeq
    comparisons --= comparisons.rangeUntil(row).keys.toSeq: Unit
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
  def of(
      journal: AcknowledgedJournal,
      store: FileStore,
      options: CdcOptions,
      wholeRow: Option[Long]): WaitingChanges = {
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
    new WaitingChanges(journal.until, wholeRow, committedAt(_).toOption.flatten)
  }
}
