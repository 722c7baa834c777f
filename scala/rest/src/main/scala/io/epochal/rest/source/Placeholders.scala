package io.epochal.rest.source

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale

import scala.util.matching.Regex

import io.epochal.core.error.EpochalException
import io.epochal.kit.access.SecretOptionList
import io.epochal.rest.http.{Endpoint, RequestOptions}

/** The places `${name}` in options that stand for the values of a member: in the URL, in parameters, headers and the body
  * of its requests. A value is encoded for its place.
  */
private[rest] object Placeholders extends SecretOptionList {

  /** A name, as a regular expression. */
  val Name = "[A-Za-z_][A-Za-z0-9_]*"

  /** Names of the paging placeholders in a request's body. */
  val Reserved: Set[String] =
    Set("offset", "limit", "page", "pageSize", "cursor", "windowFrom", "windowTo", PageCall.SinceValue)

  private val Place = s"\\$$\\{($Name)}".r

  /** A placeholder before the path. */
  private val Server = """^(?:[^/?#]*//)?[^/?#]*\$\{""".r

  /** Replaces the placeholders with these names; others stay. */
  def fill(text: String, params: String => Option[String])(encode: String => String): String =
    Place.replaceAllIn(text, place => Regex.quoteReplacement(params(place.group(1)).fold(place.matched)(encode)))

  /** The options with placeholders replaced; unknown ones stay. */
  def fillOptions(raw: Map[String, String], params: Map[String, String]): Map[String, String] = {
    val contentType = contentTypeOf(raw)
    raw.map { case (name, text) =>
      name -> encoding(name, contentType).fold(text)(fill(text, params.get)(_))
    }
  }

  /** The content type of a body that these options set. */
  def contentTypeOf(raw: Map[String, String]): String = raw
    .collectFirst {
      case (name, kind) if name.equalsIgnoreCase(s"${RequestOptions.Headers.prefix}Content-Type") => kind
    }
    .getOrElse(PageCall.JsonType)

  /** The names of placeholders in these options. */
  def names(raw: Map[String, String]): Set[String] =
    places(raw, encoding(_, "").nonEmpty)

  /** Checks the placeholders of these options.
    *
    * @param option
    *   a reference to the option that gives the names
    * @param available
    *   the names
    * @param source
    *   where each name gets its value, for a message
    */
  def check(
      raw: Map[String, String],
      option: String,
      available: Set[String],
      source: String): Either[EpochalException, Unit] = {
    def conflict(options: String, suggestion: String) = RestOptions.group.conflict(s"$option, $options", suggestion)
    val unknown = places(raw, name => isUrl(name) || isParam(name)) -- available
    for {
      _ <- ensure(!raw.exists { case (name, text) => isUrl(name) && Server.findFirstIn(text).nonEmpty })(
        conflict(
          "a place in scheme, host or port of {option:url}",
          "Start a query for each server: a query has one budget, for one server."))
      _ <- ensure(unknown.isEmpty)(
        conflict(
          s"${unknown.toSeq.sorted.map(name => s"$${$name}").mkString(", ")} in {option:url} or params",
          s"$source; its names are ${available.toSeq.sorted.mkString(", ")}."))
      _ <- ensure(names(raw).intersect(available).nonEmpty)(conflict(
        "no place for any of its names",
        s"Write $${${available.toSeq.min}} in {option:url}, {option:params.*} or {option:requestBody} where its value is to stand."))
    } yield ()
  }

  /** Percent-encodes what a header cannot have. */
  def header(text: String): String =
    if (text.forall(c => c >= ' ' && c <= '~')) text
    else
      text.getBytes(UTF_8).map(b => if (b >= ' ' && b <= '~') b.toChar.toString else Percent(b & 0xff)).mkString

  private val Percent = (0 to 255).map(b => s"%${Character.forDigit(b >> 4, 16)}${Character.forDigit(b & 15, 16)}")

  private def encoding(name: String, contentType: String): Option[String => String] =
    if (isUrl(name)) Some(Endpoint.encode)
    else if (isParam(name)) Some(identity)
    else if (isHeader(name)) Some(header)
    else if (isBody(name)) Some(PageCall.encode(contentType, _))
    else None

  private def places(raw: Map[String, String], select: String => Boolean): Set[String] =
    raw.collect { case (name, text) if select(name) => Place.findAllMatchIn(text).map(_.group(1)) }.flatten.toSet

  private def isUrl(name: String): Boolean = name.equalsIgnoreCase(RestOptions.Url.name)
  private def isParam(name: String): Boolean = startsWith(name, RequestOptions.Params.prefix)
  private def isHeader(name: String): Boolean = startsWith(name, RequestOptions.Headers.prefix)
  private def isBody(name: String): Boolean =
    name.equalsIgnoreCase(PageCall.RequestBody.name) || name.equalsIgnoreCase(BodyOptions.Variables.name)

  private def startsWith(name: String, prefix: String): Boolean =
    name.toLowerCase(Locale.ROOT).startsWith(prefix.toLowerCase(Locale.ROOT))
}
