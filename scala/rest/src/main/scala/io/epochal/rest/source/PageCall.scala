package io.epochal.rest.source

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Try

import com.fasterxml.jackson.core.JsonPointer
import com.fasterxml.jackson.core.io.JsonStringEncoder
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature
import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory, ObjectNode}
import com.fasterxml.jackson.databind.util.RawValue
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode}
import org.apache.hc.core5.http.ContentType

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionType, OptionValues}
import io.epochal.kit.json.Json
import io.epochal.rest.http.{Endpoint, HttpBody, HttpCall, OptionList}

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
    sent(call, body)(PageCall.value(pagination, page, _).toString)
  }

  /** The request for the page of a token. */
  def of(endpoint: Endpoint, pagination: ChainedPagination, token: Option[String]): HttpCall = {
    val call = if (inUrl) pagination.call(endpoint, token) else HttpCall("GET", endpoint.target(""))
    val lacksCursor = first.nonEmpty && pagination.value(token, "cursor").isEmpty
    sent(call, if (lacksCursor) first else body) { place =>
      val value = pagination.value(token, place)
      if (jsonCursor && place == "cursor") value else PageCall.encoded(contentType, value)
    }
  }

  private def sent(call: HttpCall, template: Option[BodyTemplate])(value: String => String): HttpCall =
    call.copy(
      method = method.getOrElse(if (template.isEmpty) call.method else "POST"),
      body = template.map { one =>
        val bytes = one.fill(place => if (place == PageCall.SinceValue) since.getOrElse("null") else value(place))
        new HttpBody(contentType, bytes)
      }
    )
}

object PageCall extends OptionList {

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
  private[rest] def encoded(contentType: String, text: String): String =
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
    val (needed, possible) = places(pagination)
    val unknown = names.filterNot((needed ++ possible).contains(_))
    val fixed = names.isEmpty && !needed.contains("cursor")
    val byAddress = pagination match {
      case windows: TimeWindow => windows.within.isInstanceOf[ChainedPagination.ByAddress]
      case other               => other.isInstanceOf[ChainedPagination.ByAddress]
    }
    val missing = if (body.isEmpty || fixed) Nil else needed.filterNot(names.contains(_))
    for {
      _ <- values.consistent(body.isEmpty || !byAddress)(
        s"{option:pagination=${pagination.kind}}, {option:requestBody}",
        "Leave {option:requestBody} out: pages that are named by their URL are requested with GET.")
      _ <- values.consistent(!byAddress && !isGraphQl || !values.isSet(Method))(
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
        .fold[Either[EpochalException, Unit]](Right(())) { case (set, needed) => values.together(true, set, needed) }
      _ <- ensure(contentType.forall(kind => Try(ContentType.parse(kind)).toOption.exists(_ != null)))(
        OptionGroup.invalid(
          RestOptions.Format,
          "headers.Content-Type",
          Redaction.Mask,
          "a media type with a character set that this JVM knows",
          "headers.Content-Type=application/json"))
      _ <- ensure(unknown.isEmpty)(
        conflict(pagination, s"${shown(unknown)} in {option:requestBody}", needed ++ possible))
      _ <- ensure(missing.isEmpty)(conflict(pagination, s"{option:requestBody} without ${shown(missing)}", needed))
    } yield PageCall(body, contentType.getOrElse(JsonType), values.get(Method))
  }

  /** The required placeholders, if there is any placeholder, and the optional ones. */
  private def places(pagination: Paging): (Seq[String], Seq[String]) = pagination match {
    case windows: TimeWindow =>
      val (needed, possible) = places(windows.within)
      (Seq("windowFrom", "windowTo") ++ needed, possible)
    case counted: CountedPages  => places(counted.by)
    case _: Pagination.ByOffset => (Seq("offset", "limit"), Nil)
    case _: Pagination.ByPage   => (Seq("page"), Seq("pageSize"))
    case _: ChainedPagination   => (Seq("cursor"), Nil)
    case _                      => (Nil, Nil)
  }

  private[source] def value(pagination: Pagination, page: PageRequest, place: String): Long =
    (pagination, place) match {
      case (_, "offset")                   => page.first
      case (_, "limit")                    => page.size
      case (by: Pagination.ByPage, "page") => by.firstPage + page.first / page.size
      case (_, "pageSize")                 => page.size
      case _ => throw new IllegalArgumentException(s"no value for $place under pagination=${pagination.kind}")
    }

  private def shown(names: Seq[String]): String = names.map(name => s"$${$name}").mkString(", ")

  private def conflict(pagination: Paging, options: String, places: Seq[String]): EpochalException =
    RestOptions.group.conflict(
      s"{option:pagination=${pagination.kind}}, $options",
      if (places.isEmpty) "Take it out: every request has the same body."
      else s"A body that selects the page has ${shown(places)}.")
}

/** The options of JSON bodies that select the page. */
private[rest] object BodyOptions extends OptionList {

  val Offset = option("offsetBody", OptionType.jsonPointer, sample = Some("/from"))(
    "JSON Pointer to the place in requestBody for the number of records to skip, instead of offsetParam (pagination=offset).")
  val Page = option("pageBody", OptionType.jsonPointer, sample = Some("/page"))(
    "JSON Pointer to the place in requestBody for the page number, instead of pageParam (pagination=page).")
  val Limit = option("limitBody", OptionType.jsonPointer, sample = Some("/size"))(
    "JSON Pointer to the place in requestBody for the page size, with offsetBody or pageBody (pagination=offset, page).")
  val Cursor = option("cursorBody", OptionType.jsonPointer, sample = Some("/start_cursor"))(
    "JSON Pointer to the place in requestBody for the cursor or key, as JSON, instead of cursorParam. The first request has none, unless firstCursor is set: JSON, as null, or a text (pagination=cursor, keyset).")
  val Query = option("query", OptionType.string, sample = Some("query($after: String) {…}"))(
    "GraphQL query, with a variable for the cursor; required (pagination=graphql).")
  val Variables = option("variables", OptionType.string, secret = true, sample = Some("""{"owner": "apache"}"""))(
    "JSON object with the other variables of query (pagination=graphql).")
  val CursorVariable = option("cursorVariable", OptionType.string, Some("after"))(
    "Variable of query for the cursor, which is null in the first request (pagination=graphql).")

  val ofGraphQl: Seq[OptionSpec[_]] = Seq(Query, Variables, CursorVariable)

  private val mapper = JsonMapper
    .builder(Json.trees)
    .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
    .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
    .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
    .build()

  /** A text that is JSON itself, and any other as a JSON string. */
  def json(text: String): String =
    if (Try(mapper.readTree(text)).toOption.exists(!_.isMissingNode)) text.trim else quoted(text)

  def quoted(text: String): String = mapper.writeValueAsString(text)

  /** The template of a page's body, and that of a body without a cursor; the second one only with `cursorBody`. */
  def templates(values: OptionValues): Either[EpochalException, (Option[String], Option[String])] = {
    val kind = values(PagingOptions.PaginationKind)
    val size = if (kind == "page") "pageSize" else "limit"
    val places = Seq(
      "offset" -> Offset,
      "page" -> Page,
      size -> Limit,
      "cursor" -> Cursor,
      PageCall.SinceValue -> SinceOptions.Body).flatMap { case (name, spec) =>
      values.get(spec).map(place => (name, spec, place))
    }
    if (kind == "graphql") graphQl(values).map(body => (Some(body), None))
    else if (places.isEmpty) Right((values.get(PageCall.RequestBody), None))
    else {
      def filled(places: Seq[(String, OptionSpec[String], String)]) =
        template(
          values.get(PageCall.RequestBody).getOrElse("{}"),
          places.map { case (name, _, place) => name -> place })
          .toRight(values.conflict(
            s"${places.map { case (_, spec, place) => s"{option:${spec.name}=$place}" }.mkString(", ")}, a {option:requestBody} without such a place",
            "Make {option:requestBody} a JSON object, in which no text or number is on the way to that place."))
      for {
        body <- filled(places)
        first <- filled(places.filter(_._2 != Cursor))
      } yield (Some(body), Option.when(values.isSet(Cursor))(first))
    }
  }

  private def graphQl(values: OptionValues): Either[EpochalException, String] = {
    val variable = values(CursorVariable)
    val ofSince = values.get(SinceOptions.Variable)
    for {
      query <- values.required(Query)
      _ <- ofSince
        .filterNot(name => query.contains(s"$$$name") && name != variable)
        .map(name =>
          values.conflict(
            s"{option:sinceVariable=$name}, {option:query} without $$$name",
            s"Declare the variable and use it, as in query($$$variable: String, $$$name: DateTime) {…}."))
        .toLeft(())
      _ <- Seq(s"$$$variable", "pageInfo", "hasNextPage", "endCursor")
        .find(!query.contains(_))
        .map(word =>
          values.conflict(
            s"{option:pagination=graphql}, {option:query} without $word",
            s"Ask for the page after a cursor, as in items(first: 100, after: $$$variable) {nodes {…} pageInfo {hasNextPage endCursor}}."))
        .toLeft(())
      variables <- Try(mapper.readTree(values.get(Variables).getOrElse("{}"))).toOption
        .collect { case fields: ObjectNode => fields }
        .toRight(values.group.invalid(Variables, Redaction.Mask, "a JSON object"))
      body = mapper.createObjectNode().put("query", query)
    } yield {
      variables.set[JsonNode](variable, placeholder("cursor")): Unit
      ofSince.foreach(name => variables.set[JsonNode](name, placeholder(PageCall.SinceValue)))
      body.set[JsonNode]("variables", variables): Unit
      mapper.writeValueAsString(body)
    }
  }

  private def placeholder(name: String): JsonNode =
    JsonNodeFactory.instance.rawValueNode(new RawValue(s"$${$name}"))

  /** A body with placeholders at places.
    *
    * @return
    *   None: the body is not JSON, or has no such place
    */
  private def template(body: String, places: Seq[(String, String)]): Option[String] =
    Try(mapper.readTree(body)).toOption
      .filter(root => places.forall { case (name, place) => put(root, JsonPointer.compile(place), placeholder(name)) })
      .map(mapper.writeValueAsString)

  @scala.annotation.tailrec
  private def put(node: JsonNode, place: JsonPointer, value: JsonNode): Boolean = (node, Option(place.tail)) match {
    case (fields: ObjectNode, Some(rest)) =>
      val name = place.getMatchingProperty
      if (rest.matches) {
        fields.set[JsonNode](name, value): Unit
        true
      } else put(if (fields.has(name)) fields.get(name) else fields.putObject(name), rest, value)
    case (list: ArrayNode, Some(rest)) if list.has(place.getMatchingIndex) =>
      if (rest.matches) {
        list.set(place.getMatchingIndex, value): Unit
        true
      } else put(list.get(place.getMatchingIndex), rest, value)
    case _ => false
  }
}

/** The body of a request, with placeholders such as `${offset}` that select the page. Prints without its text.
  *
  * @param names
  *   the placeholders, in their order
  */
final class BodyTemplate(private[source] val text: String) extends Serializable {
  private val Place = """\$\{([A-Za-z]+)}""".r

  val names: Seq[String] = Place.findAllMatchIn(text).map(_.group(1)).toSeq.distinct

  /** The body with its placeholders replaced. */
  def fill(value: String => String): Array[Byte] =
    Place.replaceAllIn(text, place => java.util.regex.Matcher.quoteReplacement(value(place.group(1)))).getBytes(UTF_8)

  override def toString: String = s"BodyTemplate(${names.mkString(", ")})"
}
