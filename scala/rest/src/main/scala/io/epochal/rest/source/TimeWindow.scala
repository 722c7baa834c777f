package io.epochal.rest.source

import java.time.format.DateTimeFormatter
import java.time.temporal.ChronoUnit
import java.time.{Duration, Instant, ZoneOffset}
import java.util.Locale

import scala.util.Try

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.rest.http.{Endpoint, HttpCall, OptionList}

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
  override def json: Set[String] = within.json
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
        if (nextPage.isEmpty || again && (response.scanned.records == 0 || response.repeatEnds)) {
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

  override private[rest] def mayBePastEnd(token: Option[String]): Boolean = within.mayBePastEnd(positionAt(token).page)

  override private[rest] def endCheck(token: Option[String]): Option[EndCheck] = {
    val position = positionAt(token)
    def outer(page: Option[String]) = Some(position.copy(page = page, seen = Nil).text)
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

  override private[rest] def mayBePastEnd(token: Option[String]): Boolean = request(token).first > 0

  /** By offset, a short page proves nothing: the server's pages may be smaller than requested. */
  override private[rest] def endCheck(token: Option[String]): Option[EndCheck] = {
    val end = request(token).first
    val before = Some(counted).collect { case pages: Pagination.ByPage =>
      Some((end - pages.pageSize).toString) -> pages.pageSize
    }
    counted.endCheck(end).map { case (pages, first) =>
      EndCheck(copy(counted = pages), Some(first.toString), end - first, before)
    }
  }

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

/** The options of `pagination=time-window`. */
private[rest] object WindowOptions extends OptionList {

  val WindowStart = option("windowStart", OptionType.instant, sample = Some("2026-01-01T00:00:00Z"))(
    "Start of a new query's first window; required (pagination=time-window).")
  val WindowLength = option("windowLength", OptionType.duration, sample = Some("1h"))(
    "Length of each window [from, to); required (pagination=time-window).")
  val Lag = option("lag", OptionType.duration, Some(Duration.ofMinutes(1)))(
    "Wait after a window's end, by the driver's clock, for records that appear late (pagination=time-window).")
  val Overlap = option("overlap", OptionType.duration, Some(Duration.ZERO))(
    "Time before each window that is requested again, for records later than lag; requires keyColumns (pagination=time-window).")
  val KeyColumns = option("keyColumns", OptionType.names, sample = Some("id,updated_at"))(
    "Fields that identify a record: with overlap, keys already delivered are skipped; required with sinceField (pagination=time-window, or sinceField).")
  val WindowFromParam = option("windowFromParam", OptionType.string, Some("from"))(
    "Parameter for a window's start, inclusive (pagination=time-window).")
  val WindowToParam = option("windowToParam", OptionType.string, Some("to"))(
    "Parameter for a window's end, exclusive (pagination=time-window).")
  val WindowFormat = option("windowFormat", OptionType.choice(InstantFormat.all)(_.name), Some(InstantFormat.Iso))(
    "Format of start and end: 2026-01-01T00:00:00Z, with milliseconds, the date alone, or Unix time (pagination=time-window).")
  val WindowPagination = option(
    "windowPagination",
    OptionType.oneOf("none", "offset", "page", "cursor", "keyset", "link", "next-url"),
    Some("none"))("Pagination within a window, with its own options (pagination=time-window).")

  /** Bounds the length of offsets, which list the overlapped windows. */
  private val MaxWindows = 100L
  private val Longest = Duration.ofDays(3660)

  /** @param within
    *   the pagination within a window
    */
  def read(values: OptionValues, within: ChainedPagination): Either[EpochalException, TimeWindow] = {
    val (lag, overlap, format) = (values(Lag), values(Overlap), values(WindowFormat))
    val keys = values.get(KeyColumns).getOrElse(Nil)
    def invalid(spec: OptionSpec[_], value: Any, expected: String): EpochalException =
      values.group.invalid(spec, String.valueOf(value), expected)
    def short(spec: OptionSpec[Duration], value: Duration): Either[EpochalException, Unit] =
      ensure(value.compareTo(Longest) <= 0)(invalid(spec, s"${value.toDays}d", s"at most ${Longest.toDays}d"))
    def whole(spec: OptionSpec[Duration], value: Duration): Either[EpochalException, Unit] =
      ensure(value.toMillis % format.unit.toMillis == 0)(
        invalid(
          spec,
          spec.kind.render(value),
          s"whole ${format.units}, since {option:windowFormat=${format.name}} has no fractions"))
    for {
      start <- values.required(WindowStart)
      length <- values.required(WindowLength)
      _ <- short(WindowLength, length)
      _ <- short(Lag, lag)
      _ <- short(Overlap, overlap)
      _ <- ensure(length.compareTo(format.unit) >= 0)(
        invalid(WindowLength, WindowLength.kind.render(length), "a length of time above 0"))
      _ <- whole(WindowLength, length)
      _ <- whole(Overlap, overlap)
      _ <- ensure(format.canExpress(start))(
        invalid(WindowStart, start, s"a moment that {option:windowFormat=${format.name}} can express"))
      _ <- values.consistent(overlap.isZero || keys.nonEmpty)(
        s"{option:overlap=${Overlap.kind.render(overlap)}} without {option:keyColumns}",
        "Set {option:keyColumns} to the fields that identify a record, for example {option:keyColumns=id}.")
      _ <- values.consistent(!overlap.isZero || keys.isEmpty)(
        "{option:keyColumns} without {option:overlap}",
        "Leave {option:keyColumns} out: windows that do not overlap give no record twice.")
      _ <- values.consistent(overlap.compareTo(length.multipliedBy(MaxWindows)) <= 0)(
        s"{option:overlap=${Overlap.kind.render(overlap)}}, {option:windowLength=${WindowLength.kind.render(length)}}",
        s"Set {option:overlap} to at most $MaxWindows times {option:windowLength}.")
      _ <- values.consistent(values(WindowFromParam) != values(WindowToParam))(
        s"{option:windowFromParam}, {option:windowToParam=${values(WindowToParam)}}",
        "Give each parameter its own name.")
    } yield TimeWindow(
      within,
      start,
      length,
      lag,
      overlap,
      values(WindowFromParam),
      values(WindowToParam),
      format,
      keys)
  }
}

/** How a moment is written in a request.
  *
  * @param name
  *   the value of the option
  */
sealed abstract class InstantFormat(val name: String, smallest: ChronoUnit, write: Instant => String)
    extends Serializable {

  /** The resolution of the format. */
  def unit: Duration = smallest.getDuration

  /** Its name in messages. */
  def units: String = smallest.toString.toLowerCase(Locale.ROOT)

  def text(instant: Instant): String = write(floor(instant))

  /** Whether the format expresses a moment exactly. */
  def canExpress(instant: Instant): Boolean = floor(instant) == instant

  /** The latest moment that the format can express, up to the given one. */
  def floor(instant: Instant): Instant = instant.truncatedTo(smallest)
}

object InstantFormat {
  private val Millis = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'", Locale.ROOT).withZone(ZoneOffset.UTC)

  /** `2026-01-01T00:00:00Z` */
  case object Iso extends InstantFormat("iso", ChronoUnit.SECONDS, DateTimeFormatter.ISO_INSTANT.format(_))

  /** `2026-01-01T00:00:00.000Z` */
  case object IsoMillis extends InstantFormat("iso-millis", ChronoUnit.MILLIS, Millis.format(_))

  /** `2026-01-01`, of UTC */
  case object IsoDate
      extends InstantFormat("iso-date", ChronoUnit.DAYS, _.atOffset(ZoneOffset.UTC).toLocalDate.toString)
  case object EpochSeconds extends InstantFormat("epoch-seconds", ChronoUnit.SECONDS, _.getEpochSecond.toString)
  case object EpochMillis extends InstantFormat("epoch-millis", ChronoUnit.MILLIS, _.toEpochMilli.toString)

  val all: Seq[InstantFormat] = Seq(Iso, IsoMillis, IsoDate, EpochSeconds, EpochMillis)
}
