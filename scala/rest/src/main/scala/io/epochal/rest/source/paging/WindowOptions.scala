package io.epochal.rest.source.paging

import java.time.{Duration, Instant}

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}

/** The options of `pagination=time-window`. */
private[rest] object WindowOptions {

  val WindowStart: OptionSpec[Instant] = OptionSpec(
    "windowStart",
    OptionType.instant,
    "Where the first window begins (pagination=time-window, which needs it). It counts for a new checkpoint only.",
    sample = Some("2026-01-01T00:00:00Z"))
  val WindowLength: OptionSpec[Duration] = OptionSpec(
    "windowLength",
    OptionType.duration,
    "Length of a window: [from, to) is requested, one window after the other (pagination=time-window, which needs it).",
    sample = Some("1h"))
  val Lag: OptionSpec[Duration] = OptionSpec(
    "lag",
    OptionType.duration,
    "How long ago a window must have ended before it is requested, by the driver's clock: the time that a record may take to appear " +
      "(pagination=time-window).",
    Some(Duration.ofMinutes(1))
  )
  val Overlap: OptionSpec[Duration] = OptionSpec(
    "overlap",
    OptionType.duration,
    "How much of the time before it each window requests again, for records that appear later than lag; needs keyColumns, which recognise " +
      "the records that were delivered before (pagination=time-window).",
    Some(Duration.ZERO)
  )
  val KeyColumns: OptionSpec[Seq[String]] = OptionSpec(
    "keyColumns",
    OptionType.names,
    "Fields that identify a record, where windows overlap: a record whose key was delivered is not delivered again " +
      "(pagination=time-window).",
    sample = Some("id,updated_at")
  )
  val WindowFromParam: OptionSpec[String] = OptionSpec(
    "windowFromParam",
    OptionType.string,
    "Parameter with the moment where a window begins; records of that moment belong to it (pagination=time-window).",
    Some("from"))
  val WindowToParam: OptionSpec[String] = OptionSpec(
    "windowToParam",
    OptionType.string,
    "Parameter with the moment where a window ends; records of that moment belong to the next one (pagination=time-window).",
    Some("to"))
  val WindowFormat: OptionSpec[InstantFormat] = OptionSpec(
    "windowFormat",
    OptionType.choice(InstantFormat.all)(_.name),
    "How the two moments are written: 2026-01-01T00:00:00Z, the same with milliseconds, or seconds or milliseconds since 1970 " +
      "(pagination=time-window).",
    Some(InstantFormat.Iso)
  )
  val WindowPagination: OptionSpec[String] = OptionSpec(
    "windowPagination",
    OptionType.oneOf("none", "offset", "page", "cursor", "keyset", "link", "next-url"),
    "How the pages of one window follow each other, with the options of that pagination (pagination=time-window).",
    Some("none")
  )

  val all: Seq[OptionSpec[_]] =
    Seq(
      WindowStart,
      WindowLength,
      Lag,
      Overlap,
      KeyColumns,
      WindowFromParam,
      WindowToParam,
      WindowFormat,
      WindowPagination)

  /** Overlaps of more windows would make long offsets. */
  private val MaxWindows = 100L
  private val Longest = Duration.ofDays(3660)

  /** @param within
    *   how pages follow each other in a window
    */
  def read(values: OptionValues, within: ChainedPagination): Either[EpochalException, TimeWindow] = {
    val (lag, overlap, format) = (values(Lag), values(Overlap), values(WindowFormat))
    val keys = values.get(KeyColumns).getOrElse(Nil)
    def conflict(wrong: Boolean, options: => String, suggestion: => String): Either[EpochalException, Unit] =
      Either.cond(!wrong, (), values.conflict(options, suggestion))
    def invalid(spec: OptionSpec[_], value: Any, expected: String): EpochalException =
      values.group.invalid(spec, String.valueOf(value), expected)
    def short(spec: OptionSpec[Duration], value: Duration): Either[EpochalException, Unit] =
      Either.cond(value.compareTo(Longest) <= 0, (), invalid(spec, s"${value.toDays}d", s"at most ${Longest.toDays}d"))
    def whole(spec: OptionSpec[Duration], value: Duration): Either[EpochalException, Unit] =
      Either.cond(
        value.toMillis % format.unit.toMillis == 0,
        (),
        invalid(spec, spec.kind.render(value), s"whole seconds, since windowFormat=${format.name} has no fractions"))
    for {
      start <- values.required(WindowStart)
      length <- values.required(WindowLength)
      _ <- short(WindowLength, length)
      _ <- short(Lag, lag)
      _ <- short(Overlap, overlap)
      _ <- Either.cond(
        length.compareTo(format.unit) >= 0,
        (),
        invalid(WindowLength, WindowLength.kind.render(length), "a length of time above 0"))
      _ <- whole(WindowLength, length)
      _ <- whole(Overlap, overlap)
      _ <- Either.cond(
        format.tells(start),
        (),
        invalid(WindowStart, start, s"a moment that windowFormat=${format.name} can express"))
      _ <- conflict(
        !overlap.isZero && keys.isEmpty,
        s"overlap=${Overlap.kind.render(overlap)} without keyColumns",
        "Set keyColumns to the fields that identify a record, for example keyColumns=id.")
      _ <- conflict(
        overlap.isZero && keys.nonEmpty,
        "keyColumns without overlap",
        "Leave keyColumns out: windows that do not overlap give no record twice.")
      _ <- conflict(
        overlap.compareTo(length.multipliedBy(MaxWindows)) > 0,
        s"overlap=${Overlap.kind.render(overlap)}, windowLength=${WindowLength.kind.render(length)}",
        s"Set overlap to at most $MaxWindows times windowLength.")
      _ <- conflict(
        values(WindowFromParam) == values(WindowToParam),
        s"windowFromParam, windowToParam=${values(WindowToParam)}",
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
