package io.epochal.core.journal.acknowledged

import io.epochal.core.journal.{Frame, Gap, JournalPlan, Slice}

/** The segments of a journal, in row order. Immutable. */
final private[acknowledged] case class Segments(all: Vector[SegmentIndex]) {

  /** The row after the last. */
  def until: Long = all.lastOption.fold(0L)(_.until)

  def bytes: Long = all.map(_.bytes).sum

  /** Bytes of the frames with rows from `row` on. Called for every frame: its time must not grow with the segments. */
  def bytesFrom(row: Long): Long = {
    val at = below(row)
    if (at == all.size) 0L else all.last.bytesBelow(Long.MaxValue) - all(at).bytesBelow(row)
  }

  /** Adds a frame to the last segment, or a segment with its first frame. */
  def +(segment: SegmentIndex, frame: Frame): Segments = Segments(all.lastOption match {
    case Some(last) if last.name == segment.name => all.updated(all.size - 1, last + frame)
    case last => all :+ (segment + frame).copy(earlier = last.fold(0L)(_.bytesBelow(Long.MaxValue)))
  })

  /** The newest segment with carried state, and all later ones; all if there is none. */
  def sinceCarried: Vector[SegmentIndex] = all.drop(math.max(0, carrying))

  /** The index of the newest segment with carried state; -1 if there is none. */
  def carrying: Int = all.lastIndexWhere(_.carried.nonEmpty)

  /** As [[AcknowledgedJournal.plan]].
    *
    * @param names
    *   of the files that exist
    */
  def plan(from: Long, until: Long, names: => Set[String]): JournalPlan = {
    val reach = all.drop(below(from)).takeWhile(_.from < until)
    val present = if (reach.isEmpty) Set.empty[String] else names
    val (there, absent) = reach.partition(segment => present(segment.name))
    val slices = there.flatMap { segment =>
      val frames = segment.frames.iterator.drop(segment.framesBelow(from)).takeWhile(_.first < until)
      frames.map(Slice.of(segment.name, _, from, until))
    }
    val ends = slices.scanLeft(from)((_, slice) => slice.first + slice.take)
    val gaps = (ends zip slices.map(_.first).appended(until)).collect {
      case (at, next) if at < next =>
        val missing = absent.find(segment => segment.until > at && segment.from < next)
        Gap(at, next, missing.fold("they are damaged, or were removed")(one => s"the segment ${one.name} is not there"))
    }
    JournalPlan(slices, gaps, until)
  }

  /** The number of rows from `from` on that fit into so many bytes, estimated from the average size of a frame's rows. */
  def rowsWithin(from: Long, bytes: Long): Long = {
    val frames =
      all.iterator.drop(below(from)).flatMap(segment => segment.frames.iterator.drop(segment.framesBelow(from)))
    var (rows, left) = (0L, bytes)
    while (left > 0 && frames.hasNext) {
      val frame = frames.next()
      val count = frame.until - math.max(from, frame.first)
      val size = math.max(1L, frame.length * count / frame.rows)
      rows += (if (size <= left) count else count * left / size)
      left -= size
    }
    rows
  }

  /** The number of segments that lie wholly below a row. */
  private def below(row: Long): Int = SegmentIndex.below(all.size, all(_).until, row)
}
