package io.epochal.rest.source.supply

import io.epochal.core.journal.{Segment, SegmentWriter}
import io.epochal.rest.source.page.RecordBlock
import io.epochal.rest.source.paging.{JournalPosition, Mark, NextPage, RestPosition}

/** What was received after a position: segments that its offset names already, and what came since, which no offset names yet.
  *
  * @param start
  *   the position
  * @param segmentBytes
  *   a segment that is longer is ended
  */
final private[rest] class JournalTail(
    journal: RestJournal,
    val start: RestPosition,
    segmentBytes: Long = JournalTail.SegmentBytes
) {
  private val before = journal.needed(start)
  private var segments = before
  private var open = Option.empty[SegmentWriter]
  private var page = start.journal.flatMap(_.next)
  private var marked = start.marks
  private var taken = Option.empty[RestPosition]

  /** The record after the last one received. */
  def until: Long = open.fold(segments.lastOption.fold(start.records)(_.until))(_.until)

  /** Of records before `until`. */
  def marks: Seq[Mark] = marked

  def mark(marks: Seq[Mark]): Unit = marked = marks

  /** Segments that were sealed, those of `start` included. */
  def received: Seq[Segment] = segments

  /** The page that follows. */
  def next: Option[NextPage] = page

  /** Adds records that were received. Where that fails, the tail is of no use any more. */
  def add(block: RecordBlock): Unit = {
    val writer = open.getOrElse(journal.begin(until))
    open = Some(writer)
    journal.append(writer, block)
    if (writer.bytes >= segmentBytes) seal()
  }

  /** Says what page follows the records that were added. No position is taken between the two. */
  def goOn(page: NextPage): Unit = this.page = Some(page)

  /** The position after so many records. Whatever was received is sealed first: an offset may name it (J3). */
  def take(records: Long): RestPosition = {
    if (open.nonEmpty) seal()
    val end = RestPosition(start.records + records, Some(JournalPosition(segments, page)), start.crawl, marks = marked)
    taken = Some(end)
    end
  }

  /** The tail after the position where the next batch starts; None where that is not one that this tail gave. */
  def after(position: RestPosition): Option[JournalTail] =
    if (position == start) Some(this)
    else if (taken.contains(position)) Some(new JournalTail(journal, position, segmentBytes))
    else None

  /** Removes what no offset was given for. Segments that an offset could name stay: who knows whether Spark has logged it. */
  def discard(): Unit = {
    open.foreach(_.giveUp())
    open = None
  }

  private def seal(): Unit = {
    segments = segments ++ open.map(journal.seal)
    open = None
  }
}

private object JournalTail {

  /** What was delivered of a long backlog can be removed before all of it is. */
  val SegmentBytes: Long = 128L << 20
}
