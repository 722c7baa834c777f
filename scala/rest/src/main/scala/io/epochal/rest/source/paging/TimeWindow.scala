package io.epochal.rest.source.paging

import java.time.{Duration, Instant}

import io.epochal.kit.record.ScannedPage
import io.epochal.rest.http.request.{Endpoint, HttpCall, ResponseHead}

/** `time-window`: an API that gives the records of a stretch of time, which is asked for one stretch after the other. Windows
  * are half-open, and each begins where the one before ended, or `overlap` earlier. A window may have several pages.
  *
  * A token is a [[WindowPosition]]: after the last page of a window the next window follows, always. Which window may be asked
  * for already is not known here, but to a [[WindowChain]].
  *
  * @param within
  *   how the pages of a window follow each other
  * @param start
  *   where the first window begins
  * @param lag
  *   how long ago a window must have ended before it is asked for
  * @param keys
  *   the fields that tell a record, where there is an overlap
  * @param until
  *   where the last window ends, though it be shorter than the others; None: there is no last one
  */
final private[rest] case class TimeWindow(
    within: ChainedPagination,
    start: Instant,
    length: Duration,
    lag: Duration,
    overlap: Duration,
    fromParam: String,
    toParam: String,
    format: InstantFormat,
    keys: Seq[String],
    until: Option[Instant] = None
) extends ChainedPagination {

  override def kind: String = "time-window"
  override def flag: Option[MoreFlag] = None
  override def pointers: Seq[String] = within.pointers
  override def key: Option[String] = within.key

  def keyed: Boolean = !overlap.isZero

  /** Every window once, up to a moment: no overlap is needed where all records are there already. */
  def endingAt(end: Instant): TimeWindow = copy(overlap = Duration.ZERO, keys = Nil, until = Some(format.floor(end)))

  /** What is asked for with a token: the window, and the page in it where that is not the first one. */
  def asked(token: Option[String]): WindowPosition = token.map(parsed) match {
    case Some(inside) if inside.page.nonEmpty => inside
    case done =>
      val begin = done.fold(start)(_.window.to)
      val again = begin.minus(overlap)
      val from = done.fold(start)(position => if (again.isAfter(position.window.from)) again else position.window.from)
      val end = begin.plus(length)
      val paged = done.exists(_.paged)
      WindowPosition(Window(from, until.filter(_.isBefore(end)).getOrElse(end)), None, keyed, paged = paged)
  }

  override def call(endpoint: Endpoint, token: Option[String]): HttpCall = {
    val position = asked(token)
    within.call(there(endpoint, position.window), position.page)
  }

  override private[rest] def next(
      endpoint: Endpoint,
      page: AskedPage,
      response: ResponseHead,
      scanned: ScannedPage): Either[NoPage, Option[String]] = {
    val position = asked(page.token)
    val inside = there(endpoint, position.window)
    within.follows(inside, AskedPage(position.page, page.target, page.absentEnds), response, scanned).map { named =>
      val paged = position.paged || named.nonEmpty && within.named
      val again = named.exists(_ => within.page(inside, named) == within.page(inside, position.page))
      val follows =
        if (named.isEmpty || again && scanned.records == 0) {
          // Without keys of its records the next window cannot begin before its end.
          val known = if (position.keyed && keyed) position.window.from else position.window.to
          WindowPosition(Window(known, position.window.to), None, keyed, paged = paged)
        } else position.copy(page = named, keyed = position.keyed && keyed, seen = Nil, paged = paged)
      Some(follows.text)
    }
  }

  override private[rest] def continues(token: Option[String]): Boolean = {
    val position = asked(token)
    position.paged || within.continues(position.page)
  }

  override private[rest] def before(token: Option[String]): Long = within.before(asked(token).page)

  override def page(endpoint: Endpoint, token: Option[String]): String = {
    val position = asked(token)
    s"${position.window}|${within.page(there(endpoint, position.window), position.page)}"
  }

  override private[rest] def wanted(token: Option[String]): String = {
    val position = asked(token)
    s"${within.wanted(position.page)} of ${position.window.wanted}"
  }

  /** A window's value for a place in a request's body. */
  def place(window: Window, name: String): Option[String] = name match {
    case "windowFrom" => Some(format.text(window.from))
    case "windowTo"   => Some(format.text(window.to))
    case _            => None
  }

  private def there(endpoint: Endpoint, window: Window): Endpoint =
    endpoint.withQuery(Seq(fromParam -> format.text(window.from), toParam -> format.text(window.to)))

  private def parsed(token: String): WindowPosition =
    WindowPosition.parse(token).getOrElse(throw new IllegalArgumentException("a token that is no window's"))
}
