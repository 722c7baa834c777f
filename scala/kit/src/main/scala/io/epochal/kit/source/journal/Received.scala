package io.epochal.kit.source.journal

import io.epochal.core.journal.Segment

/** Rows that a feed has received.
  *
  * @param segments
  *   in order; the last of them ends at `end`
  * @param end
  *   the logged position after them, which names no segments: the origin is read from there next
  * @param failure
  *   why nothing more is received
  */
final case class Received(segments: Seq[Segment], end: String, failure: Option[String] = None)
