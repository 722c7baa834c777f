package io.epochal.rest.http

import java.net.{URI, URISyntaxException, URLDecoder, URLEncoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.regex.Matcher
import java.util.{Base64, Locale}

import scala.util.Try

import io.epochal.core.error.Redaction

/** The target of a query's requests, with their common headers and parameters. Prints as the URL without user info and
  * query.
  *
  * @param base
  *   scheme, host and port only
  * @param path
  *   path and query, to which a page's query is appended
  * @param hasUserInfo
  *   whether the URL had user info, which is now a header
  * @param secrets
  *   values to mask in all texts: those of headers and parameters, and the user info
  * @param credential
  *   name of the parameter with the credential, if any; not contained in `path`
  */
final class Endpoint private (
    val base: URI,
    path: String,
    val headers: Seq[(String, String)],
    val hasUserInfo: Boolean,
    val secrets: Seq[String],
    val credential: Option[String] = None)
    extends Serializable {

  private val separator = if (!path.contains('?')) "?" else if (path.endsWith("?") || path.endsWith("&")) "" else "&"

  /** The request target (RFC 9112, origin form) of one page. */
  def target(query: String): String = if (query.isEmpty) path else path + separator + query

  /** A copy with more parameters in every request. */
  def withQuery(parameters: Seq[(String, String)]): Endpoint = {
    val path = target(parameters.map(Endpoint.parameter).mkString("&"))
    new Endpoint(base, path, headers, hasUserInfo, secrets, credential)
  }

  /** The address that a response refers to.
    *
    * @param target
    *   of the request; java.net.URI drops a path's last segment if the reference is only a query (RFC 3986, section 5.2)
    * @throws java.lang.IllegalArgumentException
    *   if it is none; or java.net.URISyntaxException
    */
  private[rest] def resolve(target: String, reference: String): URI = {
    val legal = Endpoint.withLiteralPercents(
      Endpoint.Illegal.replaceAllIn(reference, m => Matcher.quoteReplacement(Endpoint.encode(m.matched))))
    val server = base.toString.stripSuffix("/")
    new URI(legal match {
      case Endpoint.Scheme()             => legal
      case text if text.startsWith("//") => s"${base.getScheme}:$text"
      case text if text.startsWith("?")  => server + target.takeWhile(_ != '?') + text
      case text if text.startsWith("#")  => server + target
      case text                          => URI.create(server + target.takeWhile(_ != '?')).resolve(text).toString
    })
  }

  /** The target of a redirect within the scheme, host and port, without the credential; None for others. */
  private[http] def redirectTarget(target: String, location: String): Option[String] =
    Try(resolve(target, location.trim)).toOption
      .filter { to =>
        base.getScheme.equalsIgnoreCase(to.getScheme) && base.getHost.equalsIgnoreCase(to.getHost) &&
        Endpoint.port(base) == Endpoint.port(to)
      }
      .map { to =>
        val query = Option(to.getRawQuery).toSeq.flatMap(_.split('&')).filter { pair =>
          pair.nonEmpty && !credential.contains(Try(URLDecoder.decode(pair.takeWhile(_ != '='), UTF_8)).getOrElse(""))
        }
        val path = Option(to.getRawPath).filter(_.nonEmpty).getOrElse("/")
        if (query.isEmpty) path else query.mkString(s"$path?", "&", "")
      }

  /** The names of the parameters that a request to the endpoint has, and this target lacks. */
  def lacking(target: String): Seq[String] = {
    def names(target: String) = Endpoint.parameters(s"$base$target").map(URLDecoder.decode(_, UTF_8))
    (names(path) -- names(target)).toSeq.sorted
  }

  /** Whether every request has a parameter of that name. */
  def parameters(name: String): Boolean = Endpoint.parameters(base.toString + path)(Endpoint.encode(name))

  /** A copy with a parameter whose credential is added to each request. */
  def withCredential(parameter: Option[String]): Endpoint =
    new Endpoint(base, path, headers, hasUserInfo, secrets, parameter)

  /** The form that messages may show. */
  override def toString: String = Redaction.url(base.toString + path)
}

object Endpoint {

  /** @return
    *   the problem of the URL, or the endpoint
    */
  def of(url: String, params: Seq[(String, String)], headers: Seq[(String, String)]): Either[String, Endpoint] =
    for {
      uri <- Try(ascii(new URI(withLiteralPercents(url.trim)))).toEither.left.map {
        case e: URISyntaxException => s"a URL (${e.getReason})"
        case _                     => "a URL"
      }
      _ <- Either.cond(
        Set("http", "https").contains(String.valueOf(uri.getScheme).toLowerCase(Locale.ROOT)),
        (),
        "an http or https URL")
      _ <- Either.cond(uri.getHost != null, (), "a URL with a host")
    } yield {
      val base = new URI(uri.getScheme.toLowerCase(Locale.ROOT), null, uri.getHost, uri.getPort, null, null, null)
      val path = if (uri.getRawPath.isEmpty) "/" else uri.getRawPath
      val query = Option(uri.getRawQuery).toSeq ++ params.map(parameter)
      val full = if (query.isEmpty) path else s"$path?${query.mkString("&")}"
      val masks = headers.filterNot(HttpHeaders.isDefault).flatMap(h => credential(h._2)) ++ params.map(_._2) ++
        Option(uri.getUserInfo).toSeq.flatMap(_.split(":", 2)) ++
        query.flatMap(_.split('&')).map(_.dropWhile(_ != '=').drop(1))
      new Endpoint(base, full, headers ++ credentials(uri), uri.getUserInfo != null, masks)
    }

  private def ascii(uri: URI): URI = {
    val text = uri.toASCIIString
    if (text == uri.toString) uri else new URI(text)
  }

  /** The names of the parameters in the URL itself. */
  def parameters(url: String): Set[String] =
    Try(new URI(withLiteralPercents(url.trim))).toOption
      .flatMap(uri => Option(uri.getRawQuery))
      .fold(Set.empty[String]) {
        _.split('&').map(_.takeWhile(_ != '=')).toSet
      }

  /** A parameter of a query, from its name and value. */
  def parameter(pair: (String, String)): String = s"${encode(pair._1)}=${encode(pair._2)}"

  /** Percent-encoding of a query's name or value (RFC 3986). */
  def encode(text: String): String = URLEncoder.encode(text, UTF_8).replace("+", "%20")

  /** A URL in which a percent sign that begins no escape stands for itself, as in browsers. */
  private[rest] def withLiteralPercents(url: String): String = LonePercent.replaceAllIn(url, "%25")

  /** The port of a server; the standard one if the URI names none. */
  private[rest] def port(uri: URI): Int =
    if (uri.getPort >= 0) uri.getPort else if (uri.getScheme == "https") 443 else 80

  private val Scheme = "^[A-Za-z][A-Za-z0-9+.-]*:.*".r
  private val Illegal = "[^A-Za-z0-9\\-._~:/?#\\[\\]@!$&'()*+,;=%]+".r
  private val LonePercent = "%(?![0-9A-Fa-f]{2})".r

  /** The parts of a header's value that are masked in all texts: the whole value, and the part after the scheme. */
  def credential(value: String): Seq[String] = Seq(value, value.drop(value.lastIndexOf(' ') + 1)).distinct

  private def credentials(uri: URI): Option[(String, String)] = Option(uri.getUserInfo).map { userInfo =>
    "Authorization" -> s"Basic ${Base64.getEncoder.encodeToString(userInfo.getBytes(UTF_8))}"
  }
}
