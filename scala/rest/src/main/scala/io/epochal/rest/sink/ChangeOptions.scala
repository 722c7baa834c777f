package io.epochal.rest.sink

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.SecretOptionList
import io.epochal.rest.sink.RestSinkOptions.{Format, group}

/** The options of `mode=changes`. [[ChangeSettings]] is the result. */
object ChangeOptions extends SecretOptionList {
  val Mode = option("mode", OptionType.oneOf("append", "changes"), Some("append"))(
    "append sends every row; changes also deletes, by opColumn, and leaves the columns of a change feed out of bodies.")
  val OpColumn = option("opColumn", OptionType.string, sample = Some("op"))(
    "Query column, not sent, with each row's operation: insert (i, c, r), update (u) or delete (d), in any case. Unset: _change_type.")
  val DeleteUrl = option("deleteUrl", OptionType.string, sample = Some("https://api.example.com/orders/{id}"))(
    "URL of DELETE requests, on the server of url; {name} is a column's value. A response 404 or 410 counts as success.")
  val DeleteTemplate = option("deleteTemplate", OptionType.string, sample = Some("""{"delete": {"_id": ${id}}}"""))(
    "In place of deleteUrl, JSON of a row that deletes, in the same body as the others; placeholders as in rowTemplate.")
  val UpsertStatus = option("upsertStatus", OptionType.int(400, 499), sample = Some("404"))(
    "Response status to a PUT (or PATCH, by method) of a missing row, which a POST to createUrl then creates. Unset: an error.")
  val CreateUrl = option("createUrl", OptionType.string, sample = Some("https://api.example.com/orders"))(
    "URL of that POST, on the server of url. Unset: url without its last segment.")

  private val LastSegment = "^([^?#]*?://[^?#]+?)/[^/?#]+(/?)((?:[?#].*)?)$".r

  def read(
      values: OptionValues,
      url: RequestUrl,
      headers: RequestUrl.Headers): Either[EpochalException, Option[ChangeSettings]] = {
    val changes = values(Mode) == "changes"
    val single = values(RestSinkOptions.BatchSize) == 1
    val updates = !values.isSet(RestSinkOptions.Method) || values(RestSinkOptions.Method) != "POST"
    def beside(spec: OptionSpec[String], text: String): Either[EpochalException, RequestUrl] =
      RequestUrl.of(values, spec, text, headers).flatMap { requestUrl =>
        ensure(requestUrl.endpoint.base == url.endpoint.base)(
          group.invalid(spec, Redaction.url(text), s"a URL on the server of {option:url}, ${url.endpoint.base}"))
          .map(_ => requestUrl)
      }
    def one[A](text: Option[A])(read: A => Either[EpochalException, RequestUrl]) =
      text.fold[Either[EpochalException, Option[RequestUrl]]](Right(None))(read(_).map(Some(_)))
    for {
      _ <- values.only(OpColumn, DeleteUrl, DeleteTemplate, UpsertStatus, CreateUrl)(changes, "{option:mode=changes}")
      _ <- values.only(CreateUrl)(values.isSet(UpsertStatus), UpsertStatus.reference)
      _ <- values.exclusive(
        "Rows are deleted by requests of their own, or in the body with the others: keep one of them.")(
        DeleteUrl,
        DeleteTemplate)
      _ <- ensure(!changes || values.isSet(DeleteUrl) || values.isSet(DeleteTemplate))(
        OptionGroup.missing(
          Format,
          DeleteUrl,
          "with {option:mode=changes} where rows are deleted, unless {option:deleteTemplate} is set"))
      _ <- values.consistent(single || !values.isSet(DeleteUrl) && !values.isSet(UpsertStatus))(
        s"${(if (values.isSet(DeleteUrl)) DeleteUrl else UpsertStatus).reference}, {option:batchSize=${values(RestSinkOptions.BatchSize)}}",
        "A request of several rows has one URL and one status: leave {option:batchSize} out, or set {option:deleteTemplate} alone."
      )
      _ <- values.consistent(updates || !values.isSet(UpsertStatus))(
        "{option:method=POST}, {option:upsertStatus}",
        "The first request updates: leave {option:method} out, or set {option:method=PATCH}.")
      deletes <- one(values.get(DeleteUrl))(beside(DeleteUrl, _))
      template <- Template
        .parse(values.get(DeleteTemplate).getOrElse(""))
        .left
        .map(group.invalid(DeleteTemplate, values.get(DeleteTemplate).getOrElse(""), _))
      create <- one(values.get(UpsertStatus))(_ => createUrl(values).flatMap(beside(CreateUrl, _)))
    } yield Option.when(changes)(
      ChangeSettings(
        values.get(OpColumn),
        deletes,
        template,
        values.get(UpsertStatus).zip(create).map { case (status, url) => UpsertSettings(status, url) }))
  }

  private def createUrl(values: OptionValues): Either[EpochalException, String] =
    values.get(CreateUrl).toRight(()).left.flatMap { _ =>
      values(RestSinkOptions.Url).trim match {
        case LastSegment(before, slash, query) => Right(s"$before$slash$query")
        case _ =>
          Left(
            OptionGroup
              .missing(Format, CreateUrl, "{option:url} has no last segment that could be left out to create a row"))
      }
    }
}
