package io.epochal.rest.sink

import java.time.Duration

import io.epochal.core.error.EpochalException
import io.epochal.core.option.OptionValues
import io.epochal.kit.access.DriverAccess
import io.epochal.kit.sink.AsynchronousProgress
import io.epochal.rest.http.{HttpHeaders, HttpOptions, HttpSettings, HttpStatuses, RequestOptions}

/** The sink's options, checked. Serialized to the executors; prints without secrets.
  *
  * @param values
  *   on the driver only
  * @param keyHeader
  *   the header of the idempotency key; None: no header
  * @param changes
  *   None: every row is sent alike
  */
final case class RestSinkSettings(
    @transient values: OptionValues,
    http: HttpSettings,
    url: UrlTemplate,
    body: RequestBody,
    rowTemplate: Seq[TemplatePiece],
    keyHeader: Option[String],
    changes: Option[ChangeSettings] = None
) {
  import RestSinkOptions._

  val method: String = if (changes.exists(_.upsert.nonEmpty) && !values.isSet(Method)) "PUT" else values(Method)

  val contentType: String =
    values.get(ContentType).getOrElse(if (body.kind == BodyKind.Lines) "application/x-ndjson" else "application/json")

  val ignoreNullFields: Boolean = values(IgnoreNullFields)

  /** Maximum rows, and bytes of rows, of a request. */
  val batchSize: Int = values(BatchSize)
  val batchBytes: Long = values(BatchBytes)

  /** None: no time limit. */
  val flushInterval: Option[Duration] = values.get(FlushInterval)

  /** Whether requests have idempotency keys at all. */
  val keyed: Boolean = keyHeader.isDefined || body.usesKey

  /** The columns that keys are made of, as the user spelled them; empty: keys are made of a row's position. */
  def keyColumns: Seq[String] = values.get(KeyColumns).getOrElse(Nil)

  def sinkId: Option[String] = values.get(SinkId)

  val results: Option[ResultSettings] = values
    .get(Results)
    .map(
      ResultSettings(_, values(ResultStatus), values.get(ResultSuccess).getOrElse(Nil).toSet, values.get(ResultReason)))

  val deadLetters: Option[DeadLetterSettings] =
    values.get(DeadLetterPath).map(DeadLetterSettings(_, values(RejectStatuses), values(MaxBadRows)))

  /** The endpoint, as messages may show it. */
  def place: String = http.endpoint.toString

  override def toString: String = s"RestSinkSettings($place)"
}

object RestSinkSettings {
  import RestSinkOptions._

  def read(raw: Map[String, String]): Either[EpochalException, RestSinkSettings] =
    for {
      values <- group.parse(raw)
      _ <- synchronousProgress(raw)
      headers <- HttpHeaders.of(Format, values.family(RequestOptions.Headers))
      where <- RequestUrl.of(values, Url, values(Url), headers)
      url = where.template
      http <- HttpOptions.settings(values, where.endpoint)
      header = values(IdempotencyHeader).trim
      _ <- ensure(header.matches("[!#$%&'*+.^_`|~0-9A-Za-z-]+"))(
        group.invalid(IdempotencyHeader, header, "a header's name"))
      kind = values.get(Body).getOrElse(if (values(BatchSize) > 1) BodyKind.Array else BodyKind.Object)
      body <- RequestBody
        .of(kind, values.get(BodyTemplate))
        .left
        .map(group.invalid(BodyTemplate, values.get(BodyTemplate).getOrElse(""), _))
      template <- Template
        .parse(values.get(RowTemplate).getOrElse(RequestShape.WholeRow))
        .left
        .map(group.invalid(RowTemplate, values.get(RowTemplate).getOrElse(""), _))
      changes <- ChangeOptions.read(values, where, headers)
      settings = RestSinkSettings(
        values,
        http,
        url,
        body,
        template,
        Option.when(!header.equalsIgnoreCase("none"))(header),
        changes)
      _ <- check(values, settings.keyed, url.columns.nonEmpty).toLeft(())
      _ <- DriverAccess.checked(access => values.get(DeadLetterPath).foreach(access.directory(DeadLetterPath.name, _)))
    } yield settings

  /** With asynchronous progress tracking, an epoch's offsets may be logged after its rows were sent, so that another run
    * could reuse its number for other rows.
    */
  private def synchronousProgress(raw: Map[String, String]): Either[EpochalException, Unit] =
    AsynchronousProgress.refused(
      group,
      raw,
      "an epoch's offsets must be logged before its rows are sent, or a restart sends other rows under their keys")
}

/** @param statuses
  *   response statuses that blame the request's rows
  * @param limit
  *   per epoch
  */
final private[rest] case class DeadLetterSettings(path: String, statuses: HttpStatuses, limit: Int)

/** Where a response has the result of each row. All but `success` are JSON Pointers.
  *
  * @param success
  *   empty: 200 to 299, and true
  */
final private[rest] case class ResultSettings(
    array: String,
    status: String,
    success: Set[String],
    reason: Option[String])
