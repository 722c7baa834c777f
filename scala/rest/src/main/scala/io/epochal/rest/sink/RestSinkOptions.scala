package io.epochal.rest.sink

import java.time.Duration

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionType, OptionValues}
import io.epochal.rest.http.HttpOptions
import io.epochal.rest.http.request.{HttpStatuses, RequestOptions}

/** The options of `epochal-rest` as a sink, declared once. [[RestSinkSettings]] is what becomes of them. */
object RestSinkOptions {
  val Format = "epochal-rest"

  val Url: OptionSpec[String] = OptionSpec(
    "url",
    OptionType.string,
    "Where rows are sent. {name} stands for a column's value, encoded (one row a request). A query in it is kept, and is shown nowhere.",
    required = true,
    sample = Some("https://api.example.com/orders/{id}")
  )
  val Method: OptionSpec[String] =
    OptionSpec("method", OptionType.oneOf("POST", "PUT", "PATCH"), "Method of the requests.", Some("POST"))
  val Body: OptionSpec[BodyKind] = OptionSpec(
    "body",
    OptionType.choice(BodyKind.all)(_.name),
    "What a request holds: one row as a JSON object, its rows as a JSON array, or as lines of JSON. Unset: object with batchSize=1, else array."
  )
  val RowTemplate: OptionSpec[String] = OptionSpec(
    "rowTemplate",
    OptionType.string,
    "How a row is written: JSON in which ${name} stands for a column's value, as JSON or within quotes as text, and ${_row} for the whole row. Unset: ${_row}.",
    sample = Some("""{"id": ${id}, "fields": ${_row}}""")
  )
  val BodyTemplate: OptionSpec[String] = OptionSpec(
    "bodyTemplate",
    OptionType.string,
    "What stands around the rows: JSON in which ${_rows} stands for them, once, and ${_key} for the request's idempotency key. Unset: ${_rows}.",
    sample = Some("""{"records": ${_rows}}""")
  )
  val ContentType: OptionSpec[String] = OptionSpec(
    "contentType",
    OptionType.string,
    "Header Content-Type. Unset: application/json, application/x-ndjson with body=ndjson.",
    sample = Some("application/vnd.api+json"))
  val IgnoreNullFields: OptionSpec[Boolean] = OptionSpec(
    "ignoreNullFields",
    OptionType.boolean,
    "Whether NULLs are left out of a row; if not, they are written as null.",
    Some(false))
  val BatchSize: OptionSpec[Int] =
    OptionSpec("batchSize", OptionType.int(1, 1000000), "Maximum rows in one request.", Some(1))
  val BatchBytes: OptionSpec[Long] = OptionSpec(
    "batchBytes",
    OptionType.bytes,
    "Maximum bytes of the rows in one request; a larger row is sent alone (batchSize above 1).",
    Some(4L << 20))
  val FlushInterval: OptionSpec[Duration] = OptionSpec(
    "flushInterval",
    OptionType.duration,
    "A request that has waited so long for more rows is sent as it is (batchSize above 1). Requests are then not repeatable: only without idempotency keys. Unset: requests are filled.",
    sample = Some("500ms")
  )
  val KeyColumns: OptionSpec[Seq[String]] = OptionSpec(
    "keyColumns",
    OptionType.names,
    "Columns that identify a row: idempotency keys are made of their values. Requests of several rows are then sorted by them. Unset: keys are made of the row's place in its epoch.",
    sample = Some("id")
  )
  val NumPartitions: OptionSpec[Int] = OptionSpec(
    "numPartitions",
    OptionType.int(1),
    "Tasks that send, where rows are sorted by keyColumns (batchSize above 1).",
    Some(4))
  val SinkId: OptionSpec[String] = OptionSpec(
    "sinkId",
    OptionType.string,
    "Name of this sink in its idempotency keys; keeps them when the checkpoint is lost. Unset: the query's id. A batch write needs keyColumns for it.",
    sample = Some("orders")
  )
  val IdempotencyHeader: OptionSpec[String] = OptionSpec(
    "idempotencyHeader",
    OptionType.string,
    "Header that carries the idempotency key, or none.",
    Some("Idempotency-Key"))
  val Results: OptionSpec[String] = OptionSpec(
    "results",
    OptionType.jsonPointer,
    "JSON Pointer to the array in a response that has the result of each row, in the order of the rows. Unset: the response's status counts for all rows.",
    sample = Some("/items")
  )
  val ResultStatus: OptionSpec[String] = OptionSpec(
    "resultStatus",
    OptionType.jsonPointer,
    "JSON Pointer, within an entry of results, to the row's status: an HTTP status, or true or false.",
    Some("/status"))
  val ResultSuccess: OptionSpec[Seq[String]] = OptionSpec(
    "resultSuccess",
    OptionType.names,
    "Values at resultStatus that mean success. Unset: 200 to 299, and true.",
    sample = Some("created,updated"))
  val ResultReason: OptionSpec[String] = OptionSpec(
    "resultReason",
    OptionType.jsonPointer,
    "JSON Pointer, within an entry of results, to why a row was refused. Unset: the whole entry.",
    sample = Some("/error/reason"))
  val DeadLetterPath: OptionSpec[String] = OptionSpec(
    "deadLetterPath",
    OptionType.string,
    "Directory for rows that the server refuses, as JSON lines in one file for each epoch; made if it does not exist. Unset: such a row fails its epoch.",
    sample = Some("/data/orders-refused")
  )
  val RejectStatuses: OptionSpec[HttpStatuses] = OptionSpec(
    "rejectStatuses",
    HttpStatuses.option,
    "Statuses of a whole response that mean that the rows of the request are at fault, and not url or login: they go to deadLetterPath.",
    Some(HttpStatuses(Seq("400", "413", "422")))
  )
  val MaxBadRows: OptionSpec[Int] = OptionSpec(
    "maxBadRows",
    OptionType.int(0, 1000000),
    "Maximum rows of one epoch in deadLetterPath; one more fails the epoch.",
    Some(1000))

  private val rows: Seq[OptionSpec[_]] = Seq(
    Method,
    Body,
    RowTemplate,
    BodyTemplate,
    ContentType,
    IgnoreNullFields,
    BatchSize,
    BatchBytes,
    FlushInterval,
    KeyColumns,
    NumPartitions,
    SinkId,
    IdempotencyHeader,
    Results,
    ResultStatus,
    ResultSuccess,
    ResultReason,
    DeadLetterPath,
    RejectStatuses,
    MaxBadRows
  )

  val group: OptionGroup = OptionGroup(
    s"$Format sink",
    "Sends rows to a REST API: at least once, with idempotency keys that stay the same when Spark repeats an epoch. Micro-batch and batch writes.",
    Url +: (RequestOptions.request ++ rows ++ HttpOptions.all)
  )

  /** What does not go together, whatever else was asked for. */
  private[rest] def check(values: OptionValues, keyed: Boolean, urlHasColumns: Boolean): Option[EpochalException] = {
    def unless(needed: Boolean, specs: OptionSpec[_]*)(suggestion: String): Option[EpochalException] =
      specs.filter(values.isSet(_)) match {
        case set if !needed && set.nonEmpty => Some(group.conflict(set.map(_.name).mkString(", "), suggestion))
        case _                              => None
      }
    val many = values(BatchSize) > 1
    unless(many, BatchBytes, FlushInterval)(
      "They say when a request of several rows is sent: set batchSize, or leave them out.")
      .orElse(Option.when(many && values.get(Body).contains(BodyKind.Object))(group
        .conflict(s"body=object, batchSize=${values(BatchSize)}", "One object has one row: set body=array or ndjson.")))
      .orElse(Option.when(many && urlHasColumns)(group.conflict(
        s"a column in url, batchSize=${values(BatchSize)}",
        "A request has one URL, so it can have one row only: leave batchSize out.")))
      .orElse(unless(!keyed, FlushInterval)(
        "With flushInterval a replay cuts rows into other requests, with other idempotency keys: leave flushInterval out, or set idempotencyHeader=none to send rows at least once."))
      .orElse(unless(keyed, KeyColumns)(
        "keyColumns make idempotency keys, and none is sent: leave keyColumns or idempotencyHeader=none out."))
      .orElse(unless(many && values.isSet(KeyColumns), NumPartitions)(
        "It counts only where rows are sorted by keyColumns, with batchSize above 1. Otherwise the query's partitions send: leave numPartitions out."))
      .orElse(unless(values.isSet(Results), ResultStatus, ResultSuccess, ResultReason)(
        "Set results to the JSON Pointer of the array that they belong to, or leave them out."))
      .orElse(unless(values.isSet(DeadLetterPath), RejectStatuses, MaxBadRows)(
        "Without deadLetterPath the first row that is refused fails its epoch: set it, or leave them out."))
      .orElse(headers(values))
  }

  private def headers(values: OptionValues): Option[EpochalException] =
    values.family(RequestOptions.Headers).keys.collectFirst {
      case name if name.equalsIgnoreCase(values(IdempotencyHeader)) =>
        group.conflict(
          s"headers.$name, idempotencyHeader",
          "An idempotency key must differ from request to request: leave the header out.")
      case name if name.equalsIgnoreCase("Content-Type") => group.conflict(s"headers.$name", "Set contentType.")
    }

  private[rest] def invalid(
      spec: OptionSpec[_],
      value: String,
      expected: String,
      allowed: Seq[String] = Nil,
      whole: String => String = identity): EpochalException = group.invalid(spec, value, expected, allowed, whole)
}
