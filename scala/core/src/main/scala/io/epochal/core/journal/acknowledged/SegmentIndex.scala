package io.epochal.core.journal.acknowledged

import java.util.Locale

import io.epochal.core.journal.Frame

/** What is known of a segment: where its whole frames are. An immutable value.
  *
  * @param generation
  *   of the run that wrote it
  * @param number
  *   its place among that run's segments
  * @param from
  *   the row at which it begins
  * @param carried
  *   the frame with the state that it carries over
  * @param bytes
  *   up to the end of its last whole frame
  */
final private[acknowledged] case class SegmentIndex(
    name: String,
    generation: Long,
    number: Long,
    from: Long,
    carried: Option[Frame],
    frames: Vector[Frame],
    bytes: Long
) {

  /** The row after its last. */
  def until: Long = frames.lastOption.fold(from)(_.until)

  def +(frame: Frame): SegmentIndex = copy(frames = frames :+ frame, bytes = frame.position + frame.length)

  /** Without the frames that reach beyond a row: the next segment begins there. */
  def before(row: Long): SegmentIndex =
    if (until <= row) this
    else {
      val kept = frames.takeWhile(_.until <= row)
      copy(frames = kept, bytes = kept.lastOption.fold(0L)(last => last.position + last.length))
    }

  /** How many of its frames lie wholly below a row. */
  def framesBelow(row: Long): Int = {
    var (low, high) = (0, frames.length)
    while (low < high) {
      val middle = (low + high) >>> 1
      if (frames(middle).until <= row) low = middle + 1 else high = middle
    }
    low
  }

  /** The bytes of the frames that do not lie wholly below a row. */
  def bytesFrom(row: Long): Long = {
    val below = framesBelow(row)
    if (below == frames.length) 0L else bytes - frames(below).position + FrameFormat.HeadLength
  }
}

private[acknowledged] object SegmentIndex {
  private val Name = "(\\d{19})-(\\d{9,18})-([0-9a-f]{32})[.]ack".r

  def name(generation: Long, number: Long, run: String): String =
    s"${"%019d-%09d".formatLocal(Locale.ROOT, generation, number)}-$run.ack"

  /** Generation and number in a segment's name; None where it is no segment's. The order of segments is theirs. */
  def parse(name: String): Option[(Long, Long)] = name match {
    case Name(generation, number, _) => generation.toLongOption.zip(number.toLongOption)
    case _                           => None
  }

  /** The mark of the frames of a segment with this name: see [[OpenSegment.mark]]. */
  def mark(name: String): Long = name match {
    case Name(_, _, run) => OpenSegment.mark(run)
    case _               => throw new IllegalArgumentException(s"$name is no segment's name")
  }
}
