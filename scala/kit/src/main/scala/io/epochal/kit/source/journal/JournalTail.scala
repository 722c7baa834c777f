package io.epochal.kit.source.journal

import io.epochal.core.journal.{Segment, SegmentWriter}

/** What was received after a position: segments that its offset names already, and what came since, which no offset names yet.
  *
  * @param start
  *   the position
  * @param known
  *   what a feed has received behind it, if one did
  * @param segmentBytes
  *   a segment that is longer is ended
  */
final class JournalTail[P, C](
    journal: SourceJournal[P, C],
    val start: P,
    known: Option[Ahead[C]] = None,
    segmentBytes: Long = JournalTail.SegmentBytes
) {
  import journal.positions

  private val startRow = positions.rows(start)
  private var segments = known.fold(positions.needed(start))(_.segments)
  private var open = Option.empty[SegmentWriter]
  private var at = known.fold(positions.cursor(start))(_.cursor)
  private var taken = Option.empty[P]

  /** The row after the last one received. */
  def until: Long = open.fold(segments.lastOption.fold(startRow)(_.until))(_.until)

  /** Rows received after `start`. */
  def available: Long = until - startRow

  /** Segments that were sealed, those of `start` included. */
  def received: Seq[Segment] = segments

  /** Whether it begins with what a feed has received. */
  def wasFed: Boolean = known.nonEmpty

  /** Where the origin is asked next. */
  def cursor: C = at

  /** Says where the origin is asked next, after the rows that were added. No position is taken between the two. */
  def goOn(next: C): Unit = at = next

  /** Adds rows that were received. Where that fails, the tail is of no use any more.
    *
    * @param bytes
    *   holds them, from `from` on
    */
  def add(rows: Int, bytes: Array[Byte], from: Int, length: Int): Unit = {
    val writer = open.getOrElse(journal.begin(until))
    open = Some(writer)
    journal.append(writer, rows, bytes, from, length)
    if (writer.bytes >= segmentBytes) seal()
  }

  /** The position after so many rows. Whatever was received is sealed first: an offset may name it (J3). */
  def take(rows: Long): P = {
    if (open.nonEmpty) seal()
    val end = positions.after(start, rows, segments, at)
    taken = Some(end)
    end
  }

  /** The tail after the position where the next batch starts; None where that is not one that this tail gave. */
  def after(position: P): Option[JournalTail[P, C]] =
    if (position == start) Some(this)
    else if (taken.contains(position)) Some(new JournalTail(journal, position, segmentBytes = segmentBytes))
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
