package io.epochal.rest.source

import scala.util.Try

import com.fasterxml.jackson.core.JsonPointer
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature
import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory, ObjectNode}
import com.fasterxml.jackson.databind.util.RawValue
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode}

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.SecretOptionList
import io.epochal.kit.json.Json

/** The options of JSON bodies that select the page. */
private[rest] object BodyOptions extends SecretOptionList {

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

  /** The text itself if it is JSON, otherwise as a JSON string. */
  def json(text: String): String =
    if (Try(mapper.readTree(text)).toOption.exists(!_.isMissingNode)) text.trim else jsonString(text)

  def jsonString(text: String): String = mapper.writeValueAsString(text)

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
      def bodyWith(places: Seq[(String, OptionSpec[String], String)]) =
        template(
          values.get(PageCall.RequestBody).getOrElse("{}"),
          places.map { case (name, _, place) => name -> place })
          .toRight(values.conflict(
            s"${places.map { case (_, spec, place) => s"{option:${spec.name}=$place}" }.mkString(", ")}, a {option:requestBody} without such a place",
            "Make {option:requestBody} a JSON object, in which no text or number is on the way to that place."))
      for {
        body <- bodyWith(places)
        first <- bodyWith(places.filter(_._2 != Cursor))
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
