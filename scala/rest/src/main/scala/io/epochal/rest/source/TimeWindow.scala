package io.epochal.rest.source

import java.time.{Duration, Instant}

import scala.util.Try

import io.epochal.rest.http.{Endpoint, HttpCall}

/** `time-window`: an API that returns the records of a time window; windows are requested in order. They are half-open,
  * and each begins where the previous one ended, or `overlap` earlier. A window may have several pages.
  *
  * A token is a [[WindowPosition]]: the last page of a window is always followed by the next window. A [[WindowChain]]
  * decides when a window may be requested.
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
  override def flag: Option[MoreFlag] = None
  override def pointers: Seq[String] = within.pointers
  override def key: Option[String] = within.key

  def keyed: Boolean = !overlap.isZero

  /** Each window once, up to a moment, without overlap: all records are there already. */
  def endingAt(end: Instant): TimeWindow = copy(overlap = Duration.ZERO, keys = Nil, until = Some(format.floor(end)))

  /** The window of a token, and the page in it unless that is the first one. */
  def positionAt(token: Option[String]): WindowPosition = token.map(parsed) match {
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
        if (nextPage.isEmpty || again && response.scanned.records == 0) {
          // Without the keys of its records, the next window cannot begin before its end.
          val known = if (position.keyed && keyed) position.window.from else position.window.to
          WindowPosition(Window(known, position.window.to), None, keyed, paged = paged)
        } else position.copy(page = nextPage, keyed = position.keyed && keyed, seen = Nil, paged = paged)
      Some(follows.text)
    }
  }

  override private[rest] def continues(token: Option[String]): Boolean = {
    val position = positionAt(token)
    position.paged || within.continues(position.page)
  }

  override private[rest] def before(token: Option[String]): Long = within.before(positionAt(token).page)

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

  private def parsed(token: String): WindowPosition =
    WindowPosition.parse(token).getOrElse(throw new IllegalArgumentException("a token that is no window's"))
}

/** `none`, `offset` and `page`: a window's records are counted from 0. With `none` one response has all of them. Otherwise
  * the window ends with an empty page or by the flag: a short page does not end it, because some servers return smaller
  * pages than requested.
  *
  * A token is the number of the first record of a page.
  */
final private[rest] case class CountedPages(counted: Pagination, flag: Option[MoreFlag]) extends ChainedPagination {
  override def kind: String = counted.kind
  override def page(endpoint: Endpoint, token: Option[String]): String = token.getOrElse("0")
  override private[rest] def describe(token: Option[String]): String = request(token).recordsText

  /** A page by offset begins where the previous one ended, which may be smaller than requested. */
  def request(token: Option[String]): PageRequest = counted.continueAt(record(token))

  override private[source] def value(token: Option[String], place: String): String =
    PageCall.value(counted, request(token), place).toString

  /** Above 0 if `pageSize` has changed since the token was written. */
  override private[rest] def before(token: Option[String]): Long = record(token) - request(token).first

  private def record(token: Option[String]): Long = token.fold(0L)(_.toLong)

  override def call(endpoint: Endpoint, token: Option[String]): HttpCall =
    HttpCall("GET", endpoint.target(request(token).query))

  override private[rest] def next(response: PageResponse): ChainedPagination.Next = {
    val (page, records) = (request(response.token), response.scanned.records)
    counted match {
      case Pagination.Whole =>
        WholeList.contradiction(response.head, response.scanned).filterNot(_ => response.absentEnds).toLeft(None)
      case _ if records > page.size => Left(NoPage.Mismatch("more records than requested"))
      case _ if records == 0        => Right(None)
      case _: Pagination.ByPage     => Right(Some(page.end.toString))
      case _                        => Right(Some((page.first + records).toString))
    }
  }
}

/** A half-open interval of time. */
final case class Window(from: Instant, to: Instant) {

  /** Describes the window in a message. */
  def description: String = s"the window ${if (from == Instant.MIN) "" else s"from $from "}to $to"
}

/** Where the records of a window begin in the stream.
  *
  * @param until
  *   the end of the window
  * @param record
  *   the number in the stream of the window's first record
  */
final case class SeenWindow(until: Instant, record: Long)

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
    val nextPage = page.fold("")(token => (if (keyed) "|" else "!") + token)
    s"${window.from}/${window.to}${if (paged) "+" else ""}$listed$nextPage"
  }
}

private[rest] object WindowPosition {
  private val Text = "(?s)([^/;|!]+)/([^/;|!+]+)(\\+?)((?:;[^;|!@]+@\\d+)*)(?:([|!])(.*))?".r
  private val Listed = ";([^@]+)@(\\d+)".r

  /** None: the text is not a position. */
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
