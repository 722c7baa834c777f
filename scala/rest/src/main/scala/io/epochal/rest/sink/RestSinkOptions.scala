package io.epochal.rest.sink

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.SecretOptionList
import io.epochal.rest.http.{HttpOptions, HttpStatuses, RequestOptions}

/** The options of `epochal-rest` as a sink, declared once. [[RestSinkSettings]] is the result. */
object RestSinkOptions extends SecretOptionList {
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
