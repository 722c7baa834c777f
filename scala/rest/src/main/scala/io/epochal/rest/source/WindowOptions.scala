package io.epochal.rest.source

import java.time.Duration

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.SecretOptionList

/** The options of `pagination=time-window`. */
private[rest] object WindowOptions extends SecretOptionList {

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
    def invalid(spec: OptionSpec[_], value: Any, requirement: String): EpochalException =
      values.group.invalid(spec, String.valueOf(value), requirement)
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
