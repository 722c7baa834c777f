package io.epochal.rest.sink

import java.time.Duration

import io.epochal.core.error.{Conditions, EpochalException, Redaction}
import io.epochal.core.option.OptionValues
import io.epochal.kit.access.DriverAccess
import io.epochal.kit.sink.AsynchronousProgress
import io.epochal.rest.http.request.{HttpHeaders, HttpStatuses, RequestOptions}
import io.epochal.rest.http.{HttpOptions, HttpSettings}

/** What a query asked of the sink, checked. Travels to the executors; prints without secrets. */
final case class RestSinkSettings(
    http: HttpSettings,
    method: String,
    url: UrlTemplate,
    body: RequestBody,
    contentType: String,
    rowTemplate: Seq[TemplatePiece],
    ignoreNullFields: Boolean,
    batch: BatchLimits,
    keys: KeySettings,
    results: Option[ResultSettings],
    deadLetters: Option[DeadLetterSettings]
) {

  /** Where rows go, as messages may show it. */
  def place: String = http.endpoint.toString
}

/** When a request is full.
  *
  * @param flushInterval
  *   None: time does not count
  */
final case class BatchLimits(rows: Int, bytes: Long, flushInterval: Option[Duration])

/** What idempotency keys are made of, and where they go.
  *
  * @param header
  *   None: in no header
  * @param inBody
  *   whether the body has them
  * @param columns
  *   as the user spelled them; empty: keys are made of a row's place
  * @param numPartitions
  *   tasks that rows are dealt out to, where they are sorted by `columns`
  */
final case class KeySettings(
    header: Option[String],
    inBody: Boolean,
    columns: Seq[String],
    numPartitions: Int,
    sinkId: Option[String]) {

  /** Whether requests have keys at all. */
  def sent: Boolean = header.isDefined || inBody
}

/** Where a response tells of each row. All are JSON Pointers, but `success`.
  *
  * @param success
  *   empty: 200 to 299, and true
  */
final case class ResultSettings(array: String, status: String, success: Set[String], reason: Option[String])

/** @param statuses
  *   responses for which the request's rows are at fault
  * @param limit
  *   of an epoch
  */
final case class DeadLetterSettings(path: String, statuses: HttpStatuses, limit: Int)

object RestSinkSettings {
  import RestSinkOptions._

  def read(raw: Map[String, String]): Either[EpochalException, RestSinkSettings] =
    for {
      values <- group.parse(raw)
      _ <- synchronousProgress(raw)
      headers <- HttpHeaders.of(Format, values.family(RequestOptions.Headers))
      where <- UrlTemplate
        .of(values(Url), values.family(RequestOptions.Params).toSeq.sortBy(_._1), headers)
        .left
        .map(expected => invalid(Url, Redaction.url(values(Url)), expected))
      (endpoint, url) = where
      http <- HttpOptions.settings(values, endpoint)
      header = values(IdempotencyHeader).trim
      _ <- Either.cond(
        header.matches("[!#$%&'*+.^_`|~0-9A-Za-z-]+"),
        (),
        invalid(IdempotencyHeader, header, "a header's name"))
      kind = values.get(Body).getOrElse(if (values(BatchSize) > 1) BodyKind.Array else BodyKind.Object)
      body <- RequestBody
        .of(kind, values.get(BodyTemplate))
        .left
        .map(invalid(BodyTemplate, values.get(BodyTemplate).getOrElse(""), _))
      template <- Template
        .parse(values.get(RowTemplate).getOrElse(RequestShape.WholeRow))
        .left
        .map(invalid(RowTemplate, values.get(RowTemplate).getOrElse(""), _))
      keys = keySettings(values, Option.when(!header.equalsIgnoreCase("none"))(header), body.usesKey)
      _ <- check(values, keys.sent, url.columns.nonEmpty).toLeft(())
      _ <- DriverAccess.checked(access => values.get(DeadLetterPath).foreach(access.directory(DeadLetterPath.name, _)))
    } yield RestSinkSettings(
      http,
      values(Method),
      url,
      body,
      values.get(ContentType).getOrElse(if (kind == BodyKind.Lines) "application/x-ndjson" else "application/json"),
      template,
      values(IgnoreNullFields),
      BatchLimits(values(BatchSize), values(BatchBytes), values.get(FlushInterval)),
      keys,
      values
        .get(Results)
        .map(
          ResultSettings(
            _,
            values(ResultStatus),
            values.get(ResultSuccess).getOrElse(Nil).toSet,
            values.get(ResultReason))),
      values.get(DeadLetterPath).map(DeadLetterSettings(_, values(RejectStatuses), values(MaxBadRows)))
    )

  private def keySettings(values: OptionValues, header: Option[String], inBody: Boolean): KeySettings =
    KeySettings(header, inBody, values.get(KeyColumns).getOrElse(Nil), values(NumPartitions), values.get(SinkId))

  /** There an epoch's offsets may be logged after its rows were sent, and another run gives its number to other rows. */
  private def synchronousProgress(raw: Map[String, String]): Either[EpochalException, Unit] =
    Either.cond(
      !AsynchronousProgress.isEnabled(raw),
      (),
      Conditions.ModeUnsupported(
        "format" -> Format,
        "mode" -> "run with asynchronous progress tracking",
        "reason" -> "an epoch's offsets must be logged before its rows are sent, or a restart sends other rows under their keys",
        "suggestion" -> "Leave asyncProgressTrackingEnabled out."
      )
    )
}
