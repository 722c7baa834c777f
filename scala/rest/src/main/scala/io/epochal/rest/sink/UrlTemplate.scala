package io.epochal.rest.sink

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8

import io.epochal.rest.http.request.Endpoint

/** The target of requests (path and query), with columns' values where `{name}` stands.
  *
  * @param literals
  *   what stands before, between and after the columns, encoded: one more than columns
  * @param columns
  *   as the user spelled them
  */
final case class UrlTemplate(literals: Seq[String], columns: Seq[String]) {

  /** @param values
    *   of the columns, as they are; they get encoded (RFC 3986), so that none can leave its place
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
    *   what is wrong with the URL, or where requests go, and their targets
    */
  def of(
      url: String,
      params: Seq[(String, String)],
      headers: Seq[(String, String)]
  ): Either[String, (Endpoint, UrlTemplate)] = {
    def replaced(by: String => String): String =
      Name.replaceAllIn(url, found => java.util.regex.Matcher.quoteReplacement(by(Endpoint.encode(found.group(1)))))
    for {
      _ <- Either.cond(
        !Authority.findFirstIn(url.trim).exists(_.contains("{")),
        (),
        "a URL with columns after its host only")
      // Messages show the place as /orders/:id.
      shown <- Endpoint.of(replaced(name => s":$name"), params, headers)
      encoded <- Endpoint.of(replaced(name => s"%7B$name%7D"), params, headers)
    } yield (shown, parse(encoded.target("")))
  }

  /** Dots alone would be taken for steps up and down a path. */
  private def encode(value: String): String =
    if (value == "." || value == "..") value.replace(".", "%2E") else Endpoint.encode(value)

  private def parse(target: String): UrlTemplate = {
    val found = EncodedName.findAllMatchIn(target).toVector
    val starts = 0 +: found.map(_.end)
    val ends = found.map(_.start) :+ target.length
    UrlTemplate(
      starts.zip(ends).map { case (from, until) => target.substring(from, until) },
      found.map(m => URLDecoder.decode(m.group(1), UTF_8)))
  }
}
