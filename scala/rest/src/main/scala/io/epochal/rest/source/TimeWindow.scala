package io.epochal.rest.source

import java.time.{Duration, Instant}

import io.epochal.rest.http.{Endpoint, HttpCall}

/** `time-window`: an API that returns the records of a time window; windows are requested in order. They are half-open,
  * and each begins where the previous one ended, or `overlap` earlier. A window may have several pages.
  *
  * A token is a [[WindowPosition]]: the last page of a window is always followed by the next window. No
  * window is requested until its end is `lag` in the past.
  *
  * @param within
  *   the pagination within a window
  * @param start
  *   the start of the first window
  * @param lag
  *   how long ago a window must have ended before it is requested
  * @param keys
  *   the fields that identify a record, if windows overlap
  * @param until
  *   the end of the last window, which may be shorter than the others; None: there is no last one
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
  override def isCounted: Boolean = within.isCounted
  override def isByAddress: Boolean = within.isByAddress
  override def parameters: Seq[String] = within.parameters ++ Seq(fromParam, toParam)
  override def placeholders: Seq[String] = Seq("windowFrom", "windowTo") ++ within.placeholders
  override def identity: Option[String] =
    (Some(within.kind).filter(_ != "none") ++ within.identity).reduceOption(_ + ", " + _).map("windowPagination=" + _)
  override def flag: Option[MoreFlag] = None
  override def pointers: Seq[String] = within.pointers
  override def json: Set[String] = within.json
  override def key: Option[String] = within.key

  def keyed: Boolean = !overlap.isZero

  /** Each window once, up to a moment, without overlap: all records are there already. */
  override def endingAt(end: Instant): TimeWindow =
    copy(overlap = Duration.ZERO, keys = Nil, until = Some(format.floor(end)))

  override def latest(now: Instant): Instant = until.getOrElse(now.minus(lag))

  /** Whether the page of a token may be requested yet. */
  def isDue(token: Option[String], latest: Instant): Boolean = {
    val position = positionAt(token)
    position.page.nonEmpty ||
    !position.window.to.isAfter(latest) && position.window.from.isBefore(position.window.to)
  }

  /** The page of a token within its window. */
  def pageOf(token: Option[String]): Option[String] = token.flatMap(WindowPosition.parse).flatMap(_.page)

  /** If pages are counted and this is not a window's first one: the window, and the token of a page past the end of any
    * list, within 32 bits for servers with such numbers.
    */
  def farPage(token: Option[String]): Option[(Window, String)] = {
    val position = positionAt(token)
    within
      .countedRequest(position.page)
      .filter(_ => position.page.nonEmpty)
      .map(_ => position.window -> position.copy(page = Some(s"${1L << 30}"), seenWindows = Nil).text)
  }

  /** The window of a token, and the page in it unless that is the first one. */
  def positionAt(token: Option[String]): WindowPosition = token.map(parse) match {
    case Some(inside) if inside.page.nonEmpty => inside
    case last =>
      val begin = last.fold(start)(_.window.to)
      val again = begin.minus(overlap)
      val from = last.fold(start)(position => if (again.isAfter(position.window.from)) again else position.window.from)
      val end = begin.plus(length)
      val paged = last.exists(_.paged)
      WindowPosition(Window(from, until.filter(_.isBefore(end)).getOrElse(end)), None, keyed, paged = paged)
  }

  override def call(endpoint: Endpoint, token: Option[String]): HttpCall = {
    val position = positionAt(token)
    within.call(endpointOf(endpoint, position.window), position.page)
  }

  override private[rest] def next(response: PageResponse): ChainedPagination.Next = {
    val position = positionAt(response.token)
    val windowEndpoint = endpointOf(response.endpoint, position.window)
    within.follows(response.copy(endpoint = windowEndpoint, token = position.page)).map { nextPage =>
      val paged = position.paged || nextPage.nonEmpty && within.hasNextName
      val again =
        nextPage.exists(_ => within.page(windowEndpoint, nextPage) == within.page(windowEndpoint, position.page))
      val follows =
        if (nextPage.isEmpty || again && (response.scanResult.records == 0 || response.repeatEnds)) {
          // Without the keys of its records, the next window cannot begin before its end.
          val from = if (position.keyed && keyed) position.window.from else position.window.to
          WindowPosition(Window(from, position.window.to), None, keyed, paged = paged)
        } else position.copy(page = nextPage, keyed = position.keyed && keyed, seenWindows = Nil, paged = paged)
      Some(follows.text)
    }
  }

  override private[rest] def continues(token: Option[String]): Boolean = {
    val position = positionAt(token)
    position.paged || within.continues(position.page)
  }

  override private[rest] def before(token: Option[String]): Long = within.before(positionAt(token).page)

  override private[rest] def countedRequest(token: Option[String]): Option[PageRequest] =
    within.countedRequest(pageOf(token))

  override private[rest] def mayBePastEnd(token: Option[String]): Boolean = within.mayBePastEnd(positionAt(token).page)

  override private[rest] def endCheck(token: Option[String]): Option[EndCheck] = {
    val position = positionAt(token)
    def outer(page: Option[String]) = Some(position.copy(page = page, seenWindows = Nil).text)
    within.endCheck(position.page).map { check =>
      check.copy(
        pagination = copy(within = check.pagination),
        token = outer(check.token),
        before = check.before.map { case (page, size) => outer(page) -> size })
    }
  }

  override def page(endpoint: Endpoint, token: Option[String]): String = {
    val position = positionAt(token)
    s"${position.window}|${within.page(endpointOf(endpoint, position.window), position.page)}"
  }

  override private[rest] def describe(token: Option[String]): String = {
    val position = positionAt(token)
    s"${within.describe(position.page)} of ${position.window.description}"
  }

  override private[source] def value(token: Option[String], place: String): String = {
    val position = positionAt(token)
    place match {
      case "windowFrom" => format.text(position.window.from)
      case "windowTo"   => format.text(position.window.to)
      case other        => within.value(position.page, other)
    }
  }

  private def endpointOf(endpoint: Endpoint, window: Window): Endpoint =
    endpoint.withQuery(Seq(fromParam -> format.text(window.from), toParam -> format.text(window.to)))

  private def parse(token: String): WindowPosition =
    WindowPosition.parse(token).getOrElse(throw new IllegalArgumentException("a token that is no window's"))
}
