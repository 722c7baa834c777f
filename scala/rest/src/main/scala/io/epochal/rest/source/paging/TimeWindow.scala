package io.epochal.rest.source.paging

import java.time.{Duration, Instant}

import scala.util.Try

import io.epochal.rest.http.request.{Endpoint, HttpCall}

/** `time-window`: an API that returns the records of a window of time; windows are requested one after the other. They
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
  *   how long ago a window must have ended before it is requested
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

  /** The window of a token, and the page in it where that is not the first one. */
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

  override private[rest] def next(response: PageResponse): ChainedPagination.Next = {
    val position = asked(response.token)
    val inside = there(response.endpoint, position.window)
    within.follows(response.copy(endpoint = inside, token = position.page)).map { named =>
      val paged = position.paged || named.nonEmpty && within.named
      val again = named.exists(_ => within.page(inside, named) == within.page(inside, position.page))
      val follows =
        if (named.isEmpty || again && response.scanned.records == 0) {
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

/** `none`: one response has all records of a window. */
private[rest] case object OnePage extends ChainedPagination {
  override def kind: String = "none"
  override def flag: Option[MoreFlag] = None
  override def call(endpoint: Endpoint, token: Option[String]): HttpCall = HttpCall("GET", endpoint.target(""))
  override def page(endpoint: Endpoint, token: Option[String]): String = ""
  override private[rest] def wanted(token: Option[String]): String = "all records"

  override private[rest] def next(response: PageResponse): ChainedPagination.Next =
    WholeList.contradiction(response.head, response.scanned).filterNot(_ => response.absentEnds).toLeft(None)
}

/** `offset` and `page`: a window's records are counted from 0, and it ends with an empty page, or where the flag says so. A
  * page that is not full is not taken for the last one: some servers return smaller pages than requested.
  *
  * A token is the number of the record that a page begins with.
  */
final private[rest] case class CountedPages(counted: Pagination, flag: Option[MoreFlag]) extends ChainedPagination {
  override def kind: String = counted.kind
  override def page(endpoint: Endpoint, token: Option[String]): String = token.getOrElse("0")
  override private[rest] def wanted(token: Option[String]): String = request(token).wanted

  /** A page by offset begins where the one before ended, which may be smaller than requested. */
  def request(token: Option[String]): PageRequest = counted.goOn(record(token))

  /** `pageSize` may have been another one when the token was written. */
  override private[rest] def before(token: Option[String]): Long = record(token) - request(token).first

  private def record(token: Option[String]): Long = token.fold(0L)(_.toLong)

  override def call(endpoint: Endpoint, token: Option[String]): HttpCall =
    HttpCall("GET", endpoint.target(request(token).query))

  override private[rest] def next(response: PageResponse): ChainedPagination.Next = {
    val (page, records) = (request(response.token), response.scanned.records)
    counted match {
      case _ if records > page.size => Left(NoPage.Mismatch("more than it was asked for"))
      case _ if records == 0        => Right(None)
      case _: Pagination.ByPage     => Right(Some(page.end.toString))
      case _                        => Right(Some((page.first + records).toString))
    }
  }
}

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

/** How far windows have been requested, as the text that an offset keeps: the token of a [[TimeWindow]].
  *
  * {{{
  *   from/to                  this window was read to its end
  *   from/to|page             it was not: the page requested next, as the pagination within windows names it
  *   from/to!page             the same, where the keys of its records are not known
  *   from/to;until@record;…   in front of a page: windows with records that may be given again
  *   from/to+                 in front of all that: a page of some window named the one after it
  * }}}
  *
  * @param window
  *   as it was requested. Of one read to its end, `from` says from when on the keys of all records given are known
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
