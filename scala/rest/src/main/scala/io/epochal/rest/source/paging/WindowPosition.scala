package io.epochal.rest.source.paging

import java.time.Instant

import scala.util.Try

/** A stretch of time: from a moment on, and before another one. */
final case class Window(from: Instant, to: Instant) {

  /** In a message. */
  def wanted: String = s"the window ${if (from == Instant.MIN) "" else s"from $from "}to $to"
}

/** Where the records begin that the windows up to a moment gave.
  *
  * @param until
  *   the end of the window
  * @param record
  *   the number in the stream of the first record that it gave
  */
final case class SeenWindow(until: Instant, record: Long)

/** How far windows have been asked for, as the text that an offset keeps: the token of a [[TimeWindow]].
  *
  * {{{
  *   from/to                  this window was read to its end
  *   from/to|page             it was not: the page asked for next, as the pagination within windows names it
  *   from/to!page             the same, where the keys of its records are not known
  *   from/to;until@record;…   in front of a page: windows with records that may be given again
  *   from/to+                 in front of all that: a page of some window named the one after it
  * }}}
  *
  * @param window
  *   as it was asked for. Of one read to its end, `from` says from when on the keys of all records given are known
  * @param keyed
  *   whether the keys of this window's records are known
  * @param seen
  *   oldest first; windows without records are not listed
  * @param paged
  *   whether a page of some window has named the next one
  */
final private[rest] case class WindowPosition(
    window: Window,
    page: Option[String],
    keyed: Boolean,
    seen: Seq[SeenWindow] = Nil,
    paged: Boolean = false
) {
  def text: String = {
    val listed = seen.map(one => s";${one.until}@${one.record}").mkString
    s"${window.from}/${window.to}${if (paged) "+"
      else ""}$listed${page.fold("")(named => s"${if (keyed) "|" else "!"}$named")}"
  }
}

private[rest] object WindowPosition {
  private val Text = "(?s)([^/;|!]+)/([^/;|!+]+)(\\+?)((?:;[^;|!@]+@\\d+)*)(?:([|!])(.*))?".r
  private val Listed = ";([^@]+)@(\\d+)".r

  /** None: it is no such text. */
  def parse(text: String): Option[WindowPosition] = text match {
    case Text(from, to, paged, listed, mark, page) =>
      Try {
        val seen =
          Listed.findAllMatchIn(listed).map(one => SeenWindow(Instant.parse(one.group(1)), one.group(2).toLong))
        WindowPosition(
          Window(Instant.parse(from), Instant.parse(to)),
          Option(page),
          mark != "!",
          seen.toVector,
          paged.nonEmpty)
      }.toOption
    case _ => None
  }
}
