package io.epochal.rest.sink

import java.time.Duration

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.DriverAccess
import io.epochal.kit.sink.AsynchronousProgress
import io.epochal.rest.http.{HttpHeaders, HttpOptions, HttpSettings, HttpStatuses, OptionList, RequestOptions}

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

/** Where a response has the result of each row. All but `success` are JSON Pointers.
  *
  * @param success
  *   empty: 200 to 299, and true
  */
final case class ResultSettings(array: String, status: String, success: Set[String], reason: Option[String])

/** @param statuses
  *   response statuses that blame the request's rows
  * @param limit
  *   per epoch
  */
final case class DeadLetterSettings(path: String, statuses: HttpStatuses, limit: Int)

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

/** The options of `epochal-rest` as a sink, declared once. [[RestSinkSettings]] is the result. */
object RestSinkOptions extends OptionList {
  val Format = "epochal-rest"

  val Url = option("url", OptionType.string, required = true, sample = Some("https://api.example.com/orders/{id}"))(
    "URL to send rows to; with one row per request, {name} is a column's value. Its query is sent, but never shown.")
  val Method = option("method", OptionType.oneOf("POST", "PUT", "PATCH"), Some("POST"))("Request method.")
  val Body = option("body", OptionType.choice(BodyKind.all)(_.name))(
    "Request body: one row as an object, or rows as an array or lines of JSON. Unset: object with batchSize=1, else array.")
  val RowTemplate = option("rowTemplate", OptionType.string, sample = Some("""{"id": ${id}, "fields": ${_row}}"""))(
    "JSON of a row, in which ${name} is a column's value (within quotes: its text) and ${_row} the whole row. Unset: ${_row}.")
  val BodyTemplate = option("bodyTemplate", OptionType.string, sample = Some("""{"records": ${_rows}}"""))(
    "JSON of the body, with ${_rows} once and optionally ${_key}, the idempotency key. Unset: ${_rows}.")
  val ContentType = option("contentType", OptionType.string, sample = Some("application/vnd.api+json"))(
    "Content-Type. Unset: application/json, or application/x-ndjson with body=ndjson.")
  val IgnoreNullFields = option("ignoreNullFields", OptionType.boolean, Some(false))(
    "Whether NULLs are left out; if not, they are sent as null.")
  val BatchSize = option("batchSize", OptionType.int(1, 1000000), Some(1))("Maximum rows per request.")
  val BatchBytes = option("batchBytes", OptionType.bytes, Some(4L << 20))(
    "Maximum row bytes per request; a larger row is sent alone (batchSize above 1).")
  val FlushInterval = option("flushInterval", OptionType.duration, sample = Some("500ms"))(
    "Maximum wait for more rows (batchSize above 1). Requests are then not repeatable, so idempotency keys must be off. Unset: requests are filled.")
  val KeyColumns = option("keyColumns", OptionType.names, sample = Some("id"))(
    "Columns that identify a row, for idempotency keys; rows are sorted by them if batched. Unset: keys contain the row's position in its epoch.")
  val NumPartitions = option("numPartitions", OptionType.int(1), Some(4))(
    "Sending tasks if rows are sorted by keyColumns (batchSize above 1).")
  val SinkId = option("sinkId", OptionType.string, sample = Some("orders"))(
    "Sink name in idempotency keys, which keeps them if the checkpoint is lost. In a batch write it needs keyColumns. Unset: the query's id.")
  val IdempotencyHeader =
    option("idempotencyHeader", OptionType.string, Some("Idempotency-Key"))("Header for the idempotency key, or none.")
  val Results = option("results", OptionType.jsonPointer, sample = Some("/items"))(
    "JSON Pointer to the array of results, in row order. Unset: the response's status counts for all rows.")
  val ResultStatus = option("resultStatus", OptionType.jsonPointer, Some("/status"))(
    "JSON Pointer within a result to its HTTP status or boolean; a * stands for the only field of an object.")
  val ResultSuccess = option("resultSuccess", OptionType.names, sample = Some("created,updated"))(
    "Values of resultStatus that mean success. Unset: 200 to 299, true.")
  val ResultReason = option("resultReason", OptionType.jsonPointer, sample = Some("/error/reason"))(
    "The same for the reason of a rejection. Unset: the whole result.")
  val DeadLetterPath = option("deadLetterPath", OptionType.string, sample = Some("/data/orders-refused"))(
    "Directory for rejected rows: one file of JSON lines per epoch; created if missing. Unset: a rejected row fails its epoch.")
  val RejectStatuses = option("rejectStatuses", HttpStatuses.option, Some(HttpStatuses(Seq("400", "413", "422"))))(
    "Response statuses that blame the rows, which then go to deadLetterPath.")
  val MaxBadRows = option("maxBadRows", OptionType.int(0, 1000000), Some(1000))(
    "Maximum rows per epoch in deadLetterPath; more fail the epoch.")

  val group: OptionGroup = OptionGroup(
    s"$Format sink",
    "Sends rows to a REST API: at least once, with idempotency keys that stay the same when Spark repeats an epoch. Micro-batch and batch writes.",
    Url +: (RequestOptions.all ++ all.tail ++ ChangeOptions.all ++ HttpOptions.all)
  )

  /** Rejects options that contradict each other. */
  private[rest] def check(values: OptionValues, keyed: Boolean, urlHasColumns: Boolean): Option[EpochalException] = {
    def unless(needed: Boolean, specs: OptionSpec[_]*)(suggestion: String): Option[EpochalException] =
      specs.filter(values.isSet(_)) match {
        case set if !needed && set.nonEmpty => Some(group.conflict(set.map(_.reference).mkString(", "), suggestion))
        case _                              => None
      }
    val many = values(BatchSize) > 1
    unless(many, BatchBytes, FlushInterval)(
      "They say when a request of several rows is sent: set {option:batchSize}, or leave them out.")
      .orElse(
        Option.when(many && values.get(Body).contains(BodyKind.Object))(group
          .conflict(
            s"{option:body=object}, {option:batchSize=${values(BatchSize)}}",
            "One object has one row: set {option:body=array} or ndjson.")))
      .orElse(Option.when(many && urlHasColumns)(group.conflict(
        s"a column in {option:url}, {option:batchSize=${values(BatchSize)}}",
        "A request has one URL, so it can have one row only: leave {option:batchSize} out.")))
      .orElse(unless(!keyed, FlushInterval)(
        "With {option:flushInterval} a replay cuts rows into other requests, with other idempotency keys: leave {option:flushInterval} out, or set {option:idempotencyHeader=none} to send rows at least once."))
      .orElse(unless(keyed, KeyColumns)(
        "{option:keyColumns} make idempotency keys, and none is sent: leave {option:keyColumns} or {option:idempotencyHeader=none} out."))
      .orElse(unless(many && values.isSet(KeyColumns), NumPartitions)(
        "It counts only where rows are sorted by {option:keyColumns}, with {option:batchSize} above 1. Otherwise the query's partitions send: leave {option:numPartitions} out."))
      .orElse(unless(values.isSet(Results), ResultStatus, ResultSuccess, ResultReason)(
        "Set {option:results} to the JSON Pointer of the array that they belong to, or leave them out."))
      .orElse(unless(values.isSet(DeadLetterPath), RejectStatuses, MaxBadRows)(
        "Without {option:deadLetterPath} the first row that is refused fails its epoch: set it, or leave them out."))
      .orElse(headers(values))
  }

  private def headers(values: OptionValues): Option[EpochalException] =
    values.family(RequestOptions.Headers).keys.collectFirst {
      case name if name.equalsIgnoreCase(values(IdempotencyHeader)) =>
        group.conflict(
          s"headers.$name, {option:idempotencyHeader}",
          "An idempotency key must differ from request to request: leave the header out.")
      case name if name.equalsIgnoreCase("Content-Type") =>
        group.conflict(s"headers.$name", "Set {option:contentType}.")
    }
}
