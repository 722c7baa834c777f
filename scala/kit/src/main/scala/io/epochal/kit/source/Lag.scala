package io.epochal.kit.source

/** The lag of a stream.
  *
  * @param rows
  *   up to the last row seen; None if none is known
  * @param exact
  *   whether that row is the last one
  * @param seconds
  *   since this run was last at the end: an upper bound; None if it never was
  */
final private[source] case class Lag(rows: Option[Long], exact: Boolean, seconds: Option[Long]) {

  def entries: Map[String, String] = Map("rowsBehindExact" -> exact.toString) ++ rows.map("rowsBehind" -> _.toString) ++
    seconds.map("secondsBehind" -> _.toString)
}
