package io.epochal.kit.source.journal

import io.epochal.core.journal.Segment

/** Rows that a feed has received after a position, and that no logged offset names yet.
  *
  * @param segments
  *   the segments that later offsets must name: the unread ones that the position names, then the received ones
  * @param cursor
  *   where the origin is read next
  */
final case class Ahead[C](segments: Seq[Segment], cursor: C)
