package io.epochal.core.journal.acknowledged

/** A segment's header.
  *
  * @param length
  *   in bytes: the first frame begins there
  */
final private[acknowledged] case class Header(from: Long, mark: Long, length: Int)
