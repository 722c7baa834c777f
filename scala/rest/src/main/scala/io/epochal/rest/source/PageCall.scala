package io.epochal.rest.source

import scala.util.Try

import com.fasterxml.jackson.core.io.JsonStringEncoder
import org.apache.hc.core5.http.ContentType

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionGroup, OptionType, OptionValues}
import io.epochal.kit.access.SecretOptionList
import io.epochal.rest.http.{Endpoint, HttpBody, HttpCall}

/** How a page is requested.
  *
  * @param body
  *   if it has placeholders, they select the page instead of the URL
  * @param contentType
  *   of that body
  * @param method
  *   None: GET, or POST with a body
  * @param first
  *   the body of a page without a cursor, if that is not `body` with an empty one; the cursor is then JSON
  * @param since
  *   the value in the body of [[Since]], as JSON; None: null
  */
final case class PageCall(
    body: Option[BodyTemplate],
    contentType: String,
    method: Option[String] = None,
    first: Option[BodyTemplate] = None,
    jsonCursor: Boolean = false,
    since: Option[String] = None) {

  /** Whether the URL selects the page. */
  def inUrl: Boolean = body.forall(_.names.forall(_ == PageCall.SinceValue))

  /** Whether pages are requested by GET without a body. */
  def isPlain: Boolean = body.isEmpty && method.forall(_ == "GET")

  /** The query that is added to a page's URL. */
  def query(page: PageRequest): String = if (inUrl) page.query else ""

  def of(endpoint: Endpoint, pagination: Pagination, page: PageRequest): HttpCall = {
    val call = HttpCall("GET", endpoint.target(query(page)))
    withBody(call, body)(pagination.value(page, _).toString)
  }

  def of(endpoint: Endpoint, pagination: ChainedPagination, token: Option[String]): HttpCall = {
    val call = if (inUrl) pagination.call(endpoint, token) else HttpCall("GET", endpoint.target(""))
    val lacksCursor = first.nonEmpty && pagination.value(token, "cursor").isEmpty
    withBody(call, if (lacksCursor) first else body) { place =>
      val value = pagination.value(token, place)
      if (jsonCursor && place == "cursor") value else PageCall.encode(contentType, value)
    }
  }

  private def withBody(call: HttpCall, template: Option[BodyTemplate])(value: String => String): HttpCall =
    call.copy(
      method = method.getOrElse(if (template.isEmpty) call.method else "POST"),
      body = template.map { one =>
        val bytes = one.fill(place => if (place == PageCall.SinceValue) since.getOrElse("null") else value(place))
        new HttpBody(contentType, bytes)
      }
    )
}

object PageCall extends SecretOptionList {

  val RequestBody =
    option("requestBody", OptionType.string, secret = true, sample = Some("""{"from": ${offset}, "size": ${limit}}"""))(
      "Body of every request, which must change nothing on the server. Placeholders replace the paging parameters: ${offset}, ${limit} (pagination=offset), ${page}, ${pageSize} (pagination=page), ${cursor} (pagination=cursor, keyset), ${windowFrom}, ${windowTo} (pagination=time-window). Unset: none, or {} with a place for the cursor or position.")
  val Method = option("method", OptionType.oneOf("GET", "POST", "QUERY"), sample = Some("QUERY"))(
    "Method of requests, which must only read. Unset: GET, with a body POST.")

  /** The placeholder of the value in the body of [[Since]]. */
  private[source] val SinceValue = "sinceValue"

  /** The default content type of a body. */
  private[rest] val JsonType = "application/json"

  /** Escapes a text for JSON or a form, by content type. */
  private[rest] def encode(contentType: String, text: String): String =
    if (contentType.contains("json")) new String(JsonStringEncoder.getInstance().quoteAsString(text))
    else if (contentType.startsWith("application/x-www-form-urlencoded")) Endpoint.encode(text)
    else text

  private[rest] def read(
      values: OptionValues,
      pagination: Paging,
      headers: Map[String, String]
  ): Either[EpochalException, PageCall] = {
    val contentType = headers.collectFirst { case (name, kind) if name.equalsIgnoreCase("Content-Type") => kind }
    val isGraphQl = values(PagingOptions.PaginationKind) == "graphql"
    BodyOptions.templates(values).flatMap { case (text, first) =>
      read(values, pagination, contentType, text.map(new BodyTemplate(_)))
        .map(_.copy(first = first.map(new BodyTemplate(_)), jsonCursor = isGraphQl || values.isSet(BodyOptions.Cursor)))
    }
  }

  private def read(
      values: OptionValues,
      pagination: Paging,
      contentType: Option[String],
      body: Option[BodyTemplate]): Either[EpochalException, PageCall] = {
    val isPlaced =
      Seq(BodyOptions.Offset, BodyOptions.Page, BodyOptions.Limit, BodyOptions.Cursor).find(values.isSet(_))
    val isGraphQl = values(PagingOptions.PaginationKind) == "graphql"
    val ofSince = Seq(SinceOptions.Body, SinceOptions.Variable).find(values.isSet(_))
    val names = body.fold(Seq.empty[String])(_.names).filterNot(ofSince.nonEmpty && _ == SinceValue)
    val places = pagination.placeholders
    val all = places ++ places.filter(_ == "page").map(_ => "pageSize")
    val unknownNames = names.filterNot(all.contains(_))
    val fixed = names.isEmpty && !places.contains("cursor")
    val missing = if (body.isEmpty || fixed) Nil else places.filterNot(names.contains(_))
    for {
      _ <- values.consistent(body.isEmpty || !pagination.isByAddress)(
        s"{option:pagination=${pagination.kind}}, {option:requestBody}",
        "Leave {option:requestBody} out: pages that are named by their URL are requested with GET.")
      _ <- values.consistent(!pagination.isByAddress && !isGraphQl || !values.isSet(Method))(
        s"{option:pagination=${pagination.kind}}, {option:method}",
        s"Leave {option:method} out: such pages are requested with ${if (isGraphQl) "POST" else "GET"}.")
      _ <- values.consistent(!isGraphQl || !values.isSet(RequestBody))(
        "{option:pagination=graphql}, {option:requestBody}",
        "Leave {option:requestBody} out: it is made of {option:query} and {option:variables}.")
      _ <- values.consistent(body.nonEmpty || !values.get(Method).contains("QUERY"))(
        "{option:method=QUERY} without {option:requestBody}",
        "Set {option:requestBody} to the query.")
      json = isPlaced.orElse(ofSince)
      _ <- values.consistent(json.isEmpty && !isGraphQl || contentType.forall(_.contains("json")))(
        s"${json.fold("{option:pagination=graphql}")(_.reference)}, {option:headers.Content-Type}",
        "Leave {option:headers.Content-Type} out: the body is JSON.")
      _ <- isPlaced
        .flatMap(spec => missing.headOption.map(name => (spec.name, s"${name}Body")))
        .fold[Either[EpochalException, Unit]](Right(())) { case (one, other) => values.together(true, one, other) }
      _ <- ensure(contentType.forall(kind => Try(ContentType.parse(kind)).toOption.exists(_ != null)))(
        OptionGroup.invalid(
          RestOptions.Format,
          "headers.Content-Type",
          Redaction.Mask,
          "a media type with a character set that this JVM knows",
          "headers.Content-Type=application/json"))
      _ <- ensure(unknownNames.isEmpty)(conflict(pagination, s"${spell(unknownNames)} in {option:requestBody}", all))
      _ <- ensure(missing.isEmpty)(conflict(pagination, s"{option:requestBody} without ${spell(missing)}", places))
    } yield PageCall(body, contentType.getOrElse(JsonType), values.get(Method))
  }

  private def spell(names: Seq[String]): String = names.map(name => s"$${$name}").mkString(", ")

  private def conflict(pagination: Paging, options: String, places: Seq[String]): EpochalException =
    RestOptions.group.conflict(
      s"{option:pagination=${pagination.kind}}, $options",
      if (places.isEmpty) "Take it out: every request has the same body."
      else s"A body that selects the page has ${spell(places)}.")
}
