package io.epochal.rest.source

import java.time.Instant

import scala.util.Try

/** How far windows have been requested, as a text in the offset: the token of a [[TimeWindow]].
  *
  * {{{
  *   from/to                  this window was read to its end
  *   from/to|page             the page to request next, as the pagination within windows names it
  *   from/to!page             the same, if the keys of its records are unknown
  *   from/to;until@record;…   before a page: windows whose records may be returned again
  *   from/to+                 before all that: a page of some window named the next one
  * }}}
  *
  * @param window
  *   as requested; once read to its end, `from` is the moment from which all delivered records' keys are known
  * @param keyed
  *   whether the keys of this window's records are known
  * @param seenWindows
  *   oldest first; windows without records are not listed
  * @param paged
  *   whether a page of some window has named the next one
  */
final private[rest] case class WindowPosition(
    window: Window,
    page: Option[String],
    keyed: Boolean,
    seenWindows: Seq[SeenWindow] = Nil,
    paged: Boolean = false
) {
  def text: String = {
    val windows = seenWindows.map(one => s";${one.until}@${one.record}").mkString
    val nextPage = page.fold("")(token => (if (keyed) "|" else "!") + token)
    s"${window.from}/${window.to}${if (paged) "+" else ""}$windows$nextPage"
  }
}

private[rest] object WindowPosition {
  private val Text = "(?s)([^/;|!]+)/([^/;|!+]+)(\\+?)((?:;[^;|!@]+@\\d+)*)(?:([|!])(.*))?".r
  private val Listed = ";([^@]+)@(\\d+)".r

  /** None: the text is not a position. */
  def parse(text: String): Option[WindowPosition] = text match {
    case Text(from, to, plus, windows, mark, page) =>
      Try {
        val seenWindows =
          Listed.findAllMatchIn(windows).map(one => SeenWindow(Instant.parse(one.group(1)), one.group(2).toLong))
        WindowPosition(
          Window(Instant.parse(from), Instant.parse(to)),
          Option(page),
          mark != "!",
          seenWindows.toVector,
          plus.nonEmpty)
      }.toOption
    case _ => None
  }
}
