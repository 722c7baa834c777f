package io.epochal.rest.source

import java.time.Duration

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.SecretOptionList

/** The options `since*`. */
private[rest] object SinceOptions extends SecretOptionList {
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
    def refusal(spec: OptionSpec[_], suggestion: String) =
      values.conflict(s"{option:pagination=$kind}, ${spec.reference}", suggestion)
    val place = if (kind == "graphql") "sinceVariable" else "sinceParam"
    val wrong = places.filter(spec => values.isSet(spec) && (spec == Variable) != (kind == "graphql"))
    if (!values.isSet(Field)) Right(())
    else if (kind == "time-window")
      Left(refusal(Field, "Leave {option:sinceField} out: a window is read once, from its start to its end."))
    else if (wrong.nonEmpty) Left(refusal(wrong.head, s"Set {option:$place} instead."))
    else if (values.isSet(Body) && ByGet(kind))
      Left(refusal(Body, "Set {option:sinceParam} instead: pages that are named by their URL are requested with GET."))
    else Right(())
  }

  /** @param userParameters
    *   the parameters of requests
    */
  def read(values: OptionValues, paging: Paging, userParameters: Set[String]): Either[EpochalException, Option[Since]] =
    if (values.isSet(Field)) of(values, paging, userParameters).map(Some(_))
    else values.only(others: _*)(false, "{option:sinceField}").map(_ => None)

  private def of(values: OptionValues, paging: Paging, userParameters: Set[String]): Either[EpochalException, Since] = {
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
        .filter(userParameters)
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
