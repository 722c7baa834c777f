package io.epochal.spark.http

import java.net.{URI, URISyntaxException, URLEncoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

import scala.util.Try

import io.epochal.core.error.Redaction

/** Where requests go, and what all of them have in common. Prints as the URL without user info and query.
  *
  * @param base
  *   scheme, host and port only
  * @param path
  *   path and query, up to where a page's query is added
  */
final class Endpoint private (val base: URI, path: String, val headers: Seq[(String, String)]) extends Serializable {

  private val separator = if (!path.contains('?')) "?" else if (path.endsWith("?") || path.endsWith("&")) "" else "&"

  /** The request target (RFC 9112, origin form) of one page. */
  def target(query: String): String = if (query.isEmpty) path else path + separator + query

  /** What messages may show. */
  override def toString: String = Redaction.url(base.toString + path)
}

object Endpoint {

  /** @return
    *   what is wrong with the URL, or the endpoint
    */
  def of(url: String, params: Seq[(String, String)], headers: Seq[(String, String)]): Either[String, Endpoint] =
    for {
      uri <- Try(new URI(new URI(url.trim).toASCIIString)).toEither.left.map {
        case e: URISyntaxException => s"a URL (${e.getReason})"
        case _                     => "a URL"
      }
      _ <- Either.cond(
        Set("http", "https").contains(String.valueOf(uri.getScheme).toLowerCase),
        (),
        "an http or https URL")
      _ <- Either.cond(uri.getHost != null, (), "a URL with a host")
    } yield {
      val base = new URI(uri.getScheme.toLowerCase, null, uri.getHost, uri.getPort, null, null, null)
      val path = if (uri.getRawPath.isEmpty) "/" else uri.getRawPath
      val query = Option(uri.getRawQuery).toSeq ++ params.map { case (name, value) =>
        s"${encode(name)}=${encode(value)}"
      }
      val full = if (query.isEmpty) path else s"$path?${query.mkString("&")}"
      new Endpoint(base, full, headers ++ credentials(uri))
    }

  /** The names of the parameters that the URL itself has. */
  def parameters(url: String): Set[String] =
    Try(new URI(url.trim)).toOption.flatMap(uri => Option(uri.getRawQuery)).fold(Set.empty[String]) {
      _.split('&').map(_.takeWhile(_ != '=')).toSet
    }

  /** Percent-encoding of a query's name or value (RFC 3986). */
  def encode(text: String): String = URLEncoder.encode(text, UTF_8).replace("+", "%20")

  private def credentials(uri: URI): Option[(String, String)] = Option(uri.getUserInfo).map { userInfo =>
    "Authorization" -> s"Basic ${Base64.getEncoder.encodeToString(userInfo.getBytes(UTF_8))}"
  }
}
