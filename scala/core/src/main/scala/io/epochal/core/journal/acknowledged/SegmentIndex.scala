package io.epochal.core.journal.acknowledged

import java.util.Locale

import io.epochal.core.journal.Frame

/** The positions of a segment's intact frames. Immutable.
  *
  * @param generation
  *   of the run that wrote it
  * @param number
  *   its index among that run's segments
  * @param from
  *   its first row
  * @param carried
  *   the frame with the carried state
  * @param bytes
  *   up to the end of its last intact frame
  * @param earlier
  *   bytes of the frames of all earlier segments, including removed ones of this run
  */
final private[acknowledged] case class SegmentIndex(
    name: String,
    generation: Long,
    number: Long,
    from: Long,
    carried: Option[Frame],
    frames: Vector[Frame],
    bytes: Long,
    earlier: Long = 0L
) {

  /** The row after the last. */
  def until: Long = frames.lastOption.fold(from)(_.until)

  def +(frame: Frame): SegmentIndex = copy(frames = frames :+ frame, bytes = frame.position + frame.length)

  /** Drops the frames that reach beyond a row, where the next segment begins. */
  def before(row: Long): SegmentIndex =
    if (until <= row) this
    else {
      val kept = frames.takeWhile(_.until <= row)
      copy(frames = kept, bytes = kept.lastOption.fold(0L)(last => last.position + last.length))
    }

  /** The number of frames that lie wholly below a row. */
  def framesBelow(row: Long): Int = SegmentIndex.below(frames.length, frames(_).until, row)

  /** The bytes of the frames of all earlier segments, and of those here that lie wholly below a row. */
  def bytesBelow(row: Long): Long = {
    val below = framesBelow(row)
    if (below == 0) earlier
    else
      earlier + frames(below - 1).position + frames(below - 1).length - (frames.head.position - FrameFormat.HeadLength)
  }
}

private[acknowledged] object SegmentIndex {
  private val Name = "(\\d{19})-(\\d{9,18})-([0-9a-f]{32})[.]ack".r

  /** The segments, each with the bytes of the frames before it. */
  def counted(segments: Vector[SegmentIndex]): Vector[SegmentIndex] =
    segments.foldLeft(Vector.empty[SegmentIndex]) { (all, next) =>
      all :+ next.copy(earlier = all.lastOption.fold(0L)(_.bytesBelow(Long.MaxValue)))
    }

  /** Of so many spans of rows in order, the number that lie wholly below a row.
    *
    * @param until
    *   the row after the last of a span
    */
  def below(count: Int, until: Int => Long, row: Long): Int = {
    var (low, high) = (0, count)
    while (low < high) {
      val middle = (low + high) >>> 1
      if (until(middle) <= row) low = middle + 1 else high = middle
    }
    low
  }

  def name(generation: Long, number: Long, run: String): String =
    s"${"%019d-%09d".formatLocal(Locale.ROOT, generation, number)}-$run.ack"

  /** Generation and number in a segment's name, which define the order of segments; None if it is not a segment's name. */
  def parse(name: String): Option[(Long, Long)] = name match {
    case Name(generation, number, _) => generation.toLongOption.zip(number.toLongOption)
    case _                           => None
  }

  /** The part of a segment's name that is common to its run: generation and run. */
  def runOf(name: String): Option[(String, String)] = name match {
    case Name(generation, _, run) => Some(generation -> run)
    case _                        => None
  }

  /** The mark of the frames of a segment with this name: see [[OpenSegment.mark]]. */
  def mark(name: String): Long = name match {
    case Name(_, _, run) => OpenSegment.mark(run)
    case _               => throw new IllegalArgumentException(s"$name is no segment's name")
  }
}
