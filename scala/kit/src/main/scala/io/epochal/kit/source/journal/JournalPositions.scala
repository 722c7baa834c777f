package io.epochal.kit.source.journal

import io.epochal.core.journal.Segment

/** How a connector's position refers to the journal (J6): the rows before it, the segments that count, and where the origin is
  * read next. Pure.
  *
  * @tparam C
  *   where the origin is read next
  */
trait JournalPositions[P, C] {

  /** The number of rows before it. */
  def rows(position: P): Long

  /** The segments that it names; None if its rows were never journalled. */
  def segments(position: P): Option[Seq[Segment]]

  /** The segments that later offsets must also name. */
  def needed(position: P): Seq[Segment] = segments(position).getOrElse(Nil).filter(_.until > rows(position))

  def cursor(position: P): C

  /** The position `rows` rows after `start`. */
  def after(start: P, rows: Long, segments: Seq[Segment], cursor: C): P

  /** The position at a row, without the journal's segments: for a report. */
  def at(like: P, row: Long): P
}
