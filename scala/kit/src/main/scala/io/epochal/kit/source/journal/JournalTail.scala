package io.epochal.kit.source.journal

import io.epochal.core.journal.{Segment, SegmentWriter}

/** Rows received after a position: the segments that its offset names already, and later ones that no offset names yet.
  *
  * @param start
  *   the position
  * @param known
  *   rows that a feed has received after it, if there was one
  * @param segmentBytes
  *   a segment that exceeds this size is ended: small enough that delivered parts of a long backlog can be removed before all of it
  *   is delivered
  */
final class JournalTail[P, C](
    journal: SourceJournal[P, C],
    val start: P,
    known: Option[Ahead[C]] = None,
    segmentBytes: Long = 128L << 20
) {
  import journal.positions

  private val startRow = positions.rows(start)
  private var segments = known.fold(positions.needed(start))(_.segments)
  private var open = Option.empty[SegmentWriter]
  private var at = known.fold(positions.cursor(start))(_.cursor)
  private var isReceiving = false
  private var planEnd = Option.empty[P]

  /** The row after the last received one. */
  def until: Long = open.fold(segments.lastOption.fold(startRow)(_.until))(_.until)

  /** Rows received after `start`. */
  def available: Long = until - startRow

  /** The sealed segments, including those of `start`. */
  def received: Seq[Segment] = segments

  /** Whether it begins with rows from a feed. */
  def wasFed: Boolean = known.nonEmpty

  /** Where the origin is read next. */
  def cursor: C = at

  /** Receives rows together with where the origin is read after them: a position covers both or neither. After a failure the
    * tail is unusable.
    *
    * @param body
    *   adds the rows, and returns where the origin is read next
    */
  def receive(body: => C): Unit = {
    isReceiving = true
    at = body
    isReceiving = false
  }

  /** Adds a frame, within `receive`.
    *
    * @param bytes
    *   holds its rows, from `from` on
    */
  def add(rows: Int, bytes: Array[Byte], from: Int, length: Int): Unit = {
    val writer = open.getOrElse(journal.begin(until))
    open = Some(writer)
    journal.append(writer, rows, bytes, from, length)
    if (writer.bytes >= segmentBytes) seal()
  }

  /** The position after this many rows. Seals received rows first: an offset may name the segment (J3). */
  def take(rows: Long): P = {
    require(!isReceiving, "the rows received last have no place where their origin is read next")
    if (open.nonEmpty) seal()
    val end = positions.after(start, rows, segments, at)
    planEnd = Some(end)
    end
  }

  /** The tail after the position where the next batch starts; None if this tail has not produced that position. */
  def after(position: P): Option[JournalTail[P, C]] =
    if (position == start) Some(this)
    else if (planEnd.contains(position)) Some(new JournalTail(journal, position, segmentBytes = segmentBytes))
    else None

  /** Removes segments that no offset names. Segments that an offset could name stay: Spark may have logged it. */
  def discard(): Unit = {
    open.foreach(_.giveUp())
    open = None
  }

  private def seal(): Unit = {
    segments = segments ++ open.map(journal.seal)
    open = None
  }
}
