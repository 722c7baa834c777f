package io.epochal.rest.source

import java.net.{URI, URLDecoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale

import scala.util.Try

import io.epochal.core.error.Redaction
import io.epochal.rest.http.{Endpoint, HttpSettings}

/** The address of a page as an API returns it, in a form that may be stored.
  *
  * Only path and query are stored: scheme, host and port must be the endpoint's, or the page is rejected. A parameter
  * with the same name and value as one of the query's own (`params.*`, the query of `url`) may be secret: it is stored
  * as `name={0}`, and its value is restored when the page is requested. The number counts own parameters of one name.
  * The value of an own parameter or header under another name is stored as `name={param:key:0}` or
  * `name={header:X-Key:0}`. Braces do not occur in addresses otherwise. The parameter with the credential is omitted:
  * each request adds it again.
  */
private[rest] object PageUrl {
  private val Hole = "(.*)=\\{(?:(param|header):([^:}]*):)?(\\d+)\\}".r

  /** @param target
    *   the request target of the page with the address, which may be relative to it
    * @param url
    *   the address
    */
  def of(endpoint: Endpoint, target: String, url: String): Either[NoPage, String] = {
    def refusal(reason: String) = NoPage.Refused(Redaction.text(Redaction.url(url)).take(200), reason)
    for {
      absolute <- Try(endpoint.resolve(target, url)).toEither.left.map(_ => refusal("it is not a URL"))
      _ <- Either.cond(
        sameOrigin(endpoint.base, absolute),
        (),
        refusal(s"it leads to another server than ${endpoint.base.getScheme}://${endpoint.base.getRawAuthority}"))
    } yield {
      val path = Option(absolute.getRawPath).filter(_.nonEmpty).getOrElse("/")
      storableForm(endpoint, path + Option(absolute.getRawQuery).fold("")("?" + _))
    }
  }

  /** The request target of a page, with the values of own parameters restored. Parameters that the query no longer has
    * are omitted.
    */
  def open(endpoint: Endpoint, page: String): String = {
    val own = parameters(endpoint.target("")).groupBy(nameOf)
    def headers(name: String) = endpoint.headers.filter(_._1.equalsIgnoreCase(name)).map(_._2)
    mapParameters(page) {
      case pair @ Hole(_, null, _, number) => own.get(nameOf(pair)).flatMap(_.lift(number.toInt))
      case Hole(prefix, "param", name, number) =>
        own.get(text(name)).flatMap(_.lift(number.toInt)).map(pair => s"$prefix=${pair.dropWhile(_ != '=').drop(1)}")
      case Hole(prefix, _, name, number) =>
        headers(text(name)).lift(number.toInt).map(value => s"$prefix=${Endpoint.encode(value)}")
      case pair => Some(pair)
    }
  }

  /** The form of a request target that may be stored. */
  def storableForm(endpoint: Endpoint, target: String): String = {
    val own = parameters(endpoint.target("")).filter(_.contains('=')).map(decode)
    mapParameters(target) { pair =>
      val name = nameOf(pair)
      if (endpoint.credential.exists(alike(_, name))) None
      else
        Some(hole(own, endpoint.headers, name, values(pair)).fold(pair)(hole => s"${pair.takeWhile(_ != '=')}={$hole}"))
    }
  }

  /** The placeholder for a parameter's value, if that may be secret. */
  private def hole(
      own: Seq[(String, String)],
      headers: Seq[(String, String)],
      name: String,
      values: Seq[String]): Option[String] = {
    def number(all: Seq[(String, String)], one: (String, String)) =
      all.filter(_._1 == one._1).indexOf(one)
    def same(one: (String, String)) = values.contains(one._2)
    def isOurs(one: (String, String)) =
      same(one) && (one._2.length >= HttpSettings.ShortestSecret || alike(one._1, name))
    own
      .find(one => one._1 == name && same(one))
      .map(one => s"${number(own, one)}")
      .orElse(own.find(isOurs).map(one => s"param:${Endpoint.encode(one._1)}:${number(own, one)}"))
      .orElse(headers.find(isOurs).map(one => s"header:${Endpoint.encode(one._1)}:${number(headers, one)}"))
  }

  /** Whether two names may mean the same, as `api_key`, `apiKey` and `API-Key`. */
  def alike(one: String, other: String): Boolean = {
    def plain(name: String) = name.filter(_.isLetterOrDigit).toLowerCase(Locale.ROOT)
    one == other || plain(one).nonEmpty && plain(one) == plain(other)
  }

  /** The address of a page without possible secrets: user info and own parameters. */
  def displayUrl(endpoint: Endpoint, own: OwnParameters, target: String): String = {
    val page = mapParameters(target)(pair => Option.when(!own.has(pair))(pair))
    s"${endpoint.base.getScheme}://${endpoint.base.getRawAuthority}$page"
  }

  def names(target: String): Seq[String] = parameters(target).map(nameOf)

  /** An API behind a proxy often does not know that clients use https: an http link to it is accepted, and requested by
    * https.
    */
  private def sameOrigin(ours: URI, theirs: URI): Boolean = {
    val scheme = String.valueOf(theirs.getScheme).toLowerCase(Locale.ROOT)
    val isUpgrade =
      ours.getScheme == "https" && scheme == "http" && Endpoint.port(ours) == 443 && Endpoint.port(theirs) == 80
    theirs.getHost != null && theirs.getHost.equalsIgnoreCase(ours.getHost) &&
    (isUpgrade || scheme == ours.getScheme && Endpoint.port(theirs) == Endpoint.port(ours))
  }

  private def parameters(target: String): Seq[String] =
    target.indexOf('?') match {
      case -1 => Nil
      case at => target.substring(at + 1).split('&').toSeq.filter(_.nonEmpty)
    }

  private def mapParameters(target: String)(change: String => Option[String]): String = {
    val query = parameters(target).flatMap(pair => change(pair))
    target.takeWhile(_ != '?') + (if (query.isEmpty) "" else query.mkString("?", "&", ""))
  }

  def nameOf(pair: String): String = decode(pair)._1

  /** The possible values of a parameter: not all servers encode a plus sign. */
  def values(pair: String): Seq[String] = Seq(decode(pair)._2, decode(pair.replace("+", "%2B"))._2).distinct

  private def decode(pair: String): (String, String) =
    (text(pair.takeWhile(_ != '=')), text(pair.dropWhile(_ != '=').drop(1)))

  private def text(part: String): String = Try(URLDecoder.decode(part, UTF_8)).getOrElse(part)
}
