package io.epochal.kit.source

/** The known end of an origin, in rows counted from 0: rows below `exists` exist, rows from `ends` on do not.
  *
  * @param ends
  *   Long.MaxValue while the end is unknown
  */
final case class Extent(exists: Long, ends: Long = Long.MaxValue) {
  def exact: Boolean = exists == ends
}
