package io.epochal.rest.sink

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8

import io.epochal.rest.http.Endpoint
import io.epochal.rest.sink.RestSinkOptions.ensure

/** The target of requests (path and query), with columns' values in place of `{name}`.
  *
  * @param literals
  *   the encoded texts before, between and after the columns: one more than columns
  * @param columns
  *   as the user spelled them
  */
final case class UrlTemplate(literals: Seq[String], columns: Seq[String]) {

  /** @param values
    *   of the columns, unencoded; they are encoded here (RFC 3986), so that a value cannot change the URL's structure
    */
  def target(values: Seq[String]): String = {
    val out = new StringBuilder(literals.head)
    values.zip(literals.tail).foreach { case (value, next) => out.append(UrlTemplate.encode(value)).append(next) }
    out.toString
  }
}

object UrlTemplate {
  private val Name = "\\{([^{}]+)\\}".r
  private val EncodedName = "%7B(.+?)%7D".r
  private val Authority = "^[^/?#]*://[^/?#]*".r

  /** @return
    *   the form that the URL should have, or the endpoint and the template of targets
    */
  def of(
      url: String,
      params: Seq[(String, String)],
      headers: Seq[(String, String)]
  ): Either[String, (Endpoint, UrlTemplate)] = {
    def urlWith(by: String => String): String =
      Name.replaceAllIn(url, name => java.util.regex.Matcher.quoteReplacement(by(Endpoint.encode(name.group(1)))))
    for {
      _ <- ensure(!Authority.findFirstIn(url.trim).exists(_.contains("{")))("a URL with columns after its host only")
      // Messages show the URL as /orders/:id.
      displayEndpoint <- Endpoint.of(urlWith(name => s":$name"), params, headers)
      endpoint <- Endpoint.of(urlWith(name => s"%7B$name%7D"), params, headers)
    } yield (displayEndpoint, parse(endpoint.target("")))
  }

  /** Encodes a value; dots alone would be path segments of relative references. */
  private def encode(value: String): String =
    if (value == "." || value == "..") value.replace(".", "%2E") else Endpoint.encode(value)

  private def parse(target: String): UrlTemplate = {
    val names = EncodedName.findAllMatchIn(target).toVector
    val starts = 0 +: names.map(_.end)
    val ends = names.map(_.start) :+ target.length
    UrlTemplate(
      starts.zip(ends).map { case (from, until) => target.substring(from, until) },
      names.map(m => URLDecoder.decode(m.group(1), UTF_8)))
  }
}
