package io.epochal.rest.http

import java.time.Duration

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionType, OptionValues}
import io.epochal.kit.access.SecretOptionList
import io.epochal.kit.json.Json
import io.epochal.kit.record.{Body, PageScan}

/** How a successful response states an error in its JSON body.
  *
  * @param error
  *   JSON Pointer to the error; null, false, 0 and an empty value are none
  * @param ok
  *   JSON Pointer to a flag that is false if the response is an error
  * @param retryErrors
  *   errors that are transient, in any case: the whole text, or a text in the object or array there
  * @param empty
  *   errors that mean no records
  * @param cost
  *   JSON Pointer to the cost of a GraphQL query, and the rate limit that it is taken from
  */
final private[epochal] case class BodyRules(
    error: Option[String],
    ok: Option[String] = None,
    retryErrors: Seq[String] = Nil,
    empty: Seq[String] = Nil,
    cost: Option[String] = None
) {
  import BodyRules._

  private val pointers = (error ++ ok ++ cost).toSeq

  /** The rules applied to a body, which is not blank.
    *
    * @throws com.fasterxml.jackson.core.JsonProcessingException
    *   if it is not JSON
    */
  private[http] def judge(body: Body): Judgement = {
    val values = PageScan.values(body, pointers).map { case (pointer, json) => pointer -> mapper.readTree(json) }
    val reason = error.flatMap(values.get).filterNot(isNone)
    val denied = ok.filter(pointer => values.get(pointer).exists(flag => isNone(flag) || isFalse(flag.asText)))
    val texts = reason.toSeq.flatMap(textsIn)
    def isListed(names: Seq[String]) = texts.exists(text => names.exists(_.equalsIgnoreCase(text.trim)))
    Judgement(
      reason.map(one => if (one.isValueNode) one.asText else one.toString).orElse(denied.map(at => s"'$at' is false")),
      isEmpty = isListed(empty),
      isTransient = isListed(retryErrors),
      cost.flatMap(values.get).flatMap(pause))
  }
}

/** @param error
  *   the text of the error; None: the response is a page
  * @param pause
  *   until the next query of the same cost
  */
final private[http] case class Judgement(
    error: Option[String],
    isEmpty: Boolean,
    isTransient: Boolean,
    pause: Option[Duration])

private[epochal] object BodyRules extends SecretOptionList {

  val ErrorPointer = option("errorPointer", OptionType.jsonPointer, sample = Some("/error"))(
    "JSON Pointer to an error in a successful response, which fails the query with its text; null, false, 0 and an empty value are none (bodyFormat=json).")
  val OkPointer = option("okPointer", OptionType.jsonPointer, sample = Some("/ok"))(
    "JSON Pointer to a flag in a successful response; if it is false, the response is an error (bodyFormat=json).")
  val RetryErrors = option("retryErrors", OptionType.names, sample = Some("ratelimited,timeout"))(
    "Errors at errorPointer after which the request is repeated, as after a status of retry.statuses: whole texts, or texts in the object or array there (bodyFormat=json).")
  val EmptyErrors = option("emptyErrors", OptionType.names, sample = Some("not_found"))(
    "Errors at errorPointer that mean no records: the response is an empty page (bodyFormat=json).")

  /** The rules of GraphQL: errors of well-known servers that limit the rate, and Shopify's cost. */
  private[rest] val GraphQl: BodyRules =
    BodyRules(
      Some("/errors"),
      retryErrors = Seq("RATE_LIMITED", "RATE_LIMIT", "THROTTLED"),
      cost = Some("/extensions/cost"))

  /** @param standard
    *   the rules of options that are not set
    */
  private[rest] def read(
      values: OptionValues,
      standard: Option[BodyRules]): Either[EpochalException, Option[BodyRules]] = {
    val hasError = values.isSet(ErrorPointer) || standard.exists(_.error.nonEmpty)
    for {
      _ <- values.together(values.isSet(RetryErrors) && !hasError, RetryErrors.name, ErrorPointer.name)
      _ <- values.together(values.isSet(EmptyErrors) && !hasError, EmptyErrors.name, ErrorPointer.name)
    } yield Option.when(hasError || values.isSet(OkPointer))(
      BodyRules(
        values.get(ErrorPointer).orElse(standard.flatMap(_.error)),
        values.get(OkPointer),
        values.get(RetryErrors).orElse(standard.map(_.retryErrors)).getOrElse(Nil),
        values.get(EmptyErrors).getOrElse(Nil),
        standard.flatMap(_.cost)))
  }

  private val mapper = new ObjectMapper(Json.trees)

  private def isNone(value: JsonNode): Boolean =
    if (value.isContainerNode) value.isEmpty
    else if (value.isTextual) value.textValue.trim.isEmpty
    else value.isNull || value.isBoolean && !value.booleanValue || value.isNumber && value.asDouble == 0

  private def isFalse(flag: String): Boolean = flag.trim.equalsIgnoreCase("false")

  private def textsIn(value: JsonNode): Seq[String] =
    if (value.isContainerNode) value.elements().asScala.flatMap(textsIn).toSeq else Seq(value.asText)

  /** The time until the limit has recovered the cost of the last query. */
  private def pause(cost: JsonNode): Option[Duration] = {
    val limit = cost.path("throttleStatus")
    val missing = cost.path("requestedQueryCost").asDouble - limit.path("currentlyAvailable").asDouble
    val rate = limit.path("restoreRate").asDouble
    Option.when(missing > 0 && rate > 0 && limit.has("currentlyAvailable"))(
      Duration.ofMillis(math.ceil(math.min(missing / rate, LongestSeconds) * 1000).toLong))
  }

  private val LongestSeconds = 1e6
}
