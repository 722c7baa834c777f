package io.epochal.core.journal

/** A part of a frame: `take` rows, after the first `skip`. */
final case class Slice(segment: String, frame: Frame, skip: Int, take: Int) {

  def first: Long = frame.first + skip
}

object Slice {

  /** The rows of a frame that lie between two rows, at least one. */
  def of(segment: String, frame: Frame, from: Long, until: Long): Slice = {
    val first = math.max(from, frame.first)
    Slice(segment, frame, (first - frame.first).toInt, (math.min(until, frame.until) - first).toInt)
  }
}
