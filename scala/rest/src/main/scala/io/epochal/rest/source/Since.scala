package io.epochal.rest.source

import java.time.format.{DateTimeFormatter, DateTimeFormatterBuilder}
import java.time.temporal.TemporalQueries
import java.time.{Duration, Instant, LocalDate, LocalTime, ZoneOffset}

import scala.util.Try

import com.fasterxml.jackson.core.JsonPointer
import com.fasterxml.jackson.databind.JsonNode

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.rest.http.OptionList

/** Records that change: each poll requests the records whose field has at least some value, and reads all pages of that
  * request, a pass. The next pass requests from the greatest value of this one, less `lag`; [[SinceVersions]] recognises
  * what was delivered.
  *
  * Not guaranteed: that a record is delivered whose field is set to a lower value than the next pass requests.
  *
  * @param field
  *   JSON Pointer within a record
  * @param param
  *   the parameter that has the value in a request; None: it is in the body
  * @param start
  *   sent by the first pass; None: it requests all records
  * @param format
  *   of moments; None: values are numbers or texts, which are sent as they are
  * @param inclusive
  *   whether the API returns records with the requested value itself; if not, one unit less is requested
  * @param keys
  *   the fields that identify a record
  */
final private[rest] case class Since(
    field: String,
    param: Option[String],
    start: Option[String],
    format: Option[InstantFormat],
    inclusive: Boolean,
    lag: Duration,
    keys: Seq[String]) {
  import SinceValue.{Moment, Number, Text}

  private val pointer = JsonPointer.compile(field)
  private val unit = format.fold(Duration.ZERO)(_.unit)

  /** The least value of a record that the first pass delivers. */
  val first: Option[SinceValue] = format.flatMap(_ => start).flatMap(SinceMoments.parse).map(Moment(_))

  /** The value of a record; None if it is not of the format, or cannot be compared with an earlier one. */
  def read(record: JsonNode, earlier: Option[SinceValue]): Option[SinceValue] =
    value(record.at(pointer)).filter(found => earlier.forall(_.getClass == found.getClass))

  private def value(node: JsonNode): Option[SinceValue] = format match {
    case Some(moments) =>
      val number = perSecond(moments).flatMap(per => decimal(node).flatMap(SinceMoments.ofNumber(_, per)))
      number.orElse(Option.when(node.isTextual)(node.textValue).flatMap(SinceMoments.parse)).map(Moment(_))
    case None if node.isTextual => Some(node.textValue).filter(text => inclusive && text.nonEmpty).map(Text(_))
    case None                   => decimal(node).filter(_ => node.isNumber).map(Number(_))
  }

  /** How many units a second has, if moments are numbers. */
  private def perSecond(moments: InstantFormat): Option[Int] = moments match {
    case InstantFormat.EpochSeconds => Some(1)
    case InstantFormat.EpochMillis  => Some(1000)
    case _                          => None
  }

  /** Without exponents that make it long when it is written. */
  private def decimal(node: JsonNode): Option[BigDecimal] =
    Try(if (node.isNumber) BigDecimal(node.decimalValue) else BigDecimal(node.asText)).toOption
      .filter(_.scale.abs < 1000)

  /** The values that [[read]] accepts, in a message. */
  def expected: String = format match {
    case Some(moments)     => s"a moment that {option:sinceFormat=${moments.name}} can read"
    case None if inclusive => "a number or a text, as in the records before"
    case None              => "a number, since {option:sinceInclusive=false} requests one less"
  }

  /** The least value that the next pass requests, if the greatest one is this: at most the start of the pass. A page that
    * was read before may lack a change since then, and a moment in the future must not hide later changes.
    */
  def bound(greatest: SinceValue, begun: Instant): SinceValue = greatest match {
    case Moment(at) =>
      val latest = if (at.isAfter(begun)) begun else at
      Moment(format.fold(latest)(_.floor(latest.minus(lag))))
    case other => other
  }

  /** The options of a list for a pass.
    *
    * @param from
    *   the least value of the pass
    */
  def asked(options: RestOptions, from: Option[SinceValue]): RestOptions =
    (param, from.map(text).orElse(start)) match {
      case (_, None) => options
      case (Some(name), Some(value)) =>
        options.copy(http = options.http.copy(endpoint = options.endpoint.withQuery(Seq(name -> value))))
      case (None, Some(value)) => options.copy(pageCall = options.pageCall.copy(since = Some(json(from, value))))
    }

  /** A value in a body. */
  private def json(from: Option[SinceValue], text: String): String = from match {
    case None                                                    => BodyOptions.json(text)
    case Some(_: Number)                                         => text
    case Some(_: Moment) if format.exists(perSecond(_).nonEmpty) => text
    case _                                                       => BodyOptions.quoted(text)
  }

  /** The least value that the API can return. */
  def least(from: SinceValue): SinceValue = if (inclusive) from
  else
    from match {
      case Moment(at)    => Moment(at.minus(unit))
      case Number(value) => Number(value - 1)
      case other         => other
    }

  private def text(from: SinceValue): String = least(from) match {
    case Moment(at)    => format.fold(at.toString)(_.text(at))
    case Number(value) => value.bigDecimal.toPlainString
    case Text(value)   => value
  }
}

/** A value of the field that says when a record has changed. */
sealed private[rest] trait SinceValue {
  import SinceValue.{Moment, Number, Text}

  /** Values of one list are of one class. */
  def <(other: SinceValue): Boolean = (this, other) match {
    case (Moment(one), Moment(two)) => one.isBefore(two)
    case (Number(one), Number(two)) => one < two
    case (Text(one), Text(two))     => one < two
    case _                          => throw new IllegalArgumentException(s"$this and $other cannot be compared")
  }

  /** For the log of positions. */
  def logged: String = this match {
    case Moment(at)    => s"@$at"
    case Number(value) => s"#${value.bigDecimal.toPlainString}"
    case Text(value)   => s"'$value"
  }
}

private[rest] object SinceValue {
  final case class Moment(at: Instant) extends SinceValue
  final case class Number(value: BigDecimal) extends SinceValue
  final case class Text(value: String) extends SinceValue

  def parse(logged: String): SinceValue = logged.head match {
    case '@' => Moment(Instant.parse(logged.drop(1)))
    case '#' => Number(BigDecimal(logged.drop(1)))
    case _   => Text(logged.drop(1))
  }
}

/** Moments as APIs write them. */
private[rest] object SinceMoments {

  private val Iso = new DateTimeFormatterBuilder().parseCaseInsensitive
    .append(DateTimeFormatter.ISO_LOCAL_DATE)
    .optionalStart
    .appendLiteral('T')
    .append(DateTimeFormatter.ISO_LOCAL_TIME)
    .appendPattern("[XXX][XX][X]")
    .optionalEnd
    .toFormatter(java.util.Locale.ROOT)

  /** A date, or a date and a time with a `T` or a space between them; UTC without an offset. */
  def parse(text: String): Option[Instant] = Try {
    val parsed = Iso.parse(text.trim.replaceFirst("^(\\S{10}) ", "$1T"))
    val time = Option(parsed.query(TemporalQueries.localTime)).getOrElse(LocalTime.MIDNIGHT)
    val offset = Option(parsed.query(TemporalQueries.offset)).getOrElse(ZoneOffset.UTC)
    LocalDate.from(parsed).atTime(time).toInstant(offset)
  }.toOption

  /** @param perSecond
    *   how many units a second has
    */
  def ofNumber(units: BigDecimal, perSecond: Int): Option[Instant] = Try {
    val (seconds, rest) = (units * (1000000000 / perSecond)).toBigInt /% 1000000000
    Instant.ofEpochSecond(seconds.bigInteger.longValueExact, rest.toLong)
  }.toOption
}

/** The options `since*`. */
private[rest] object SinceOptions extends OptionList {
  private val Raw = "raw"
  private val Longest = Duration.ofDays(3660)

  val Field = option("sinceField", OptionType.jsonPointer, sample = Some("/updated_at"))(
    "JSON Pointer within a record to the moment or number of its last change: each poll requests the records from the greatest one delivered, so a record that changes is delivered again. Unset: a delivered record is not requested again.")
  val Param = option("sinceParam", OptionType.string, sample = Some("updated_since"))(
    "Parameter for the least value of sinceField that a poll requests; required with sinceField, unless sinceBody or sinceVariable is set.")
  val Body = option("sinceBody", OptionType.jsonPointer, sample = Some("/filter/updated/on_or_after"))(
    "JSON Pointer to the place in requestBody for that value, as JSON, instead of sinceParam.")
  val Variable = option("sinceVariable", OptionType.string, sample = Some("since"))(
    "Variable of query for that value, instead of sinceParam; required with sinceField (pagination=graphql).")
  val Start = option("sinceStart", OptionType.string, sample = Some("2024-01-01T00:00:00Z"))(
    "That value in the first poll: a moment in UTC or a date; any text if sinceFormat is raw. Required with sinceBody. Unset: the first poll requests all records, without the parameter; sinceVariable is null.")
  val Format = option("sinceFormat", OptionType.oneOf(InstantFormat.all.map(_.name) :+ Raw: _*), Some("iso"))(
    "Format of that value: 2024-01-01T00:00:00Z, with milliseconds, the date alone, Unix time, or numbers and texts that are compared and sent as they are (raw).")
  val Inclusive = option("sinceInclusive", OptionType.boolean, Some(true))(
    "Whether the API returns records with the requested value itself. If not, one unit less is requested, so that later records of the same moment are not lost.")
  val Lag = option("sinceLag", OptionType.duration, Some(Duration.ZERO))(
    "How far before the greatest delivered value a poll starts, for an API whose changes appear with a delay.")

  private val others: Seq[OptionSpec[_]] = Seq(Param, Body, Variable, Start, Format, Inclusive, Lag)
  private val places = Seq(Param, Body, Variable)

  /** Rejects a pagination without a place for the value. */
  def fits(values: OptionValues, kind: String): Either[EpochalException, Unit] = {
    def refused(spec: OptionSpec[_], suggestion: String) =
      values.conflict(s"{option:pagination=$kind}, ${spec.reference}", suggestion)
    val place = if (kind == "graphql") "sinceVariable" else "sinceParam"
    val wrong = places.filter(spec => values.isSet(spec) && (spec == Variable) != (kind == "graphql"))
    if (!values.isSet(Field)) Right(())
    else if (kind == "time-window")
      Left(refused(Field, "Leave {option:sinceField} out: a window is read once, from its start to its end."))
    else if (wrong.nonEmpty) Left(refused(wrong.head, s"Set {option:$place} instead."))
    else if (values.isSet(Body) && ByGet(kind))
      Left(refused(Body, "Set {option:sinceParam} instead: pages that are named by their URL are requested with GET."))
    else Right(())
  }

  /** @param taken
    *   the parameters of requests
    */
  def read(values: OptionValues, paging: Paging, taken: Set[String]): Either[EpochalException, Option[Since]] =
    if (values.isSet(Field)) of(values, paging, taken).map(Some(_))
    else values.only(others: _*)(false, "{option:sinceField}").map(_ => None)

  private def of(values: OptionValues, paging: Paging, taken: Set[String]): Either[EpochalException, Since] = {
    val (name, start, lag) = (values(Format), values.get(Start), values(Lag))
    val format = InstantFormat.all.find(_.name == name)
    val redundantOptions = Seq(CountingOptions.Drift, CountingOptions.VerifyPosition, PagingOptions.KeyField)
      .find(spec => values.isSet(spec) && !paging.isInstanceOf[ChainedPagination])
    for {
      field <- values.required(Field)
      _ <- values.consistent(values(RecordOptions.Format) == "json")(
        s"{option:sinceField}, {option:bodyFormat=${values(RecordOptions.Format)}}",
        "Leave {option:sinceField} out: it is a JSON Pointer.")
      _ <- redundantOptions.map(conflict(values, _, "each poll reads its list from the first page")).toLeft(())
      _ <- values.consistent(!values.isSet(PollOptions.Journal) || values(PollOptions.Journal))(
        "{option:sinceField}, {option:journal=false}",
        "Leave {option:journal} out: such records are always journalled.")
      _ <- values.exclusive("Keep the one that the API expects.")(places: _*)
      param <- param(values, paging)
      _ <- param
        .filter(taken)
        .map(name =>
          values.conflict(
            s"{option:sinceParam=$name}, the parameter '$name'",
            s"Take '$name' out of {option:url} and params, and set {option:sinceStart} instead."))
        .toLeft(())
      _ <- values.together(values.isSet(Body) && start.isEmpty, Body.name, Start.name)
      keys <- values.required(WindowOptions.KeyColumns)
      _ <- ensure(format.isEmpty || start.forall(SinceMoments.parse(_).nonEmpty))(
        values.group.invalid(Start, start.getOrElse(""), "a date, or a moment in UTC (ISO 8601)"))
      _ <- values.consistent(format.nonEmpty || lag.isZero)(
        s"{option:sinceFormat=$Raw}, {option:sinceLag=${Lag.kind.render(lag)}}",
        "Leave {option:sinceLag} out: it needs moments.")
      _ <- ensure(lag.compareTo(Longest) <= 0)(
        values.group.invalid(Lag, s"${lag.toDays}d", s"at most ${Longest.toDays}d"))
    } yield Since(field, param, start, format, values(Inclusive), lag, keys)
  }

  /** The parameter; None: the value is in the body. */
  private def param(values: OptionValues, paging: Paging): Either[EpochalException, Option[String]] =
    if (paging.kind == "graphql") values.required(Variable).map(_ => None)
    else if (values.isSet(Body)) Right(None)
    else values.required(Param).map(Some(_))

  private def conflict(values: OptionValues, spec: OptionSpec[_], why: String): EpochalException =
    values.conflict(s"{option:sinceField}, ${spec.reference}", s"Leave ${spec.reference} out: $why.")

  /** Paginations whose requests have no body. */
  private val ByGet = Set("link", "next-url")
}
