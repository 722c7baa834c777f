package io.epochal.spark.http

import io.epochal.core.error.{Conditions, EpochalException, Redaction}
import io.epochal.spark.Epochal

/** The headers of every request: the user's, checked, and ours where the user gave none. */
private[spark] object HttpHeaders {

  private val token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+".r
  private val text = "[\\t\\x20-\\x7e\\x80-\\xff]*".r

  /** Those that belong to the connection, or that decide how the answer is read. */
  private val ours =
    Set("host", "connection", "content-length", "transfer-encoding", "te", "upgrade", "accept-encoding", "range")

  private val defaults =
    Seq("Accept" -> "application/json", "Accept-Encoding" -> "gzip", "User-Agent" -> s"epochal/${Epochal.version}")

  def of(format: String, wanted: Map[String, String]): Either[EpochalException, Seq[(String, String)]] =
    wanted.toSeq
      .sortBy(_._1)
      .collectFirst {
        case (name, _) if !token.matches(name)   => invalid(format, name, "a header's name")
        case (name, _) if ours(name.toLowerCase) => invalid(format, name, "a header that may be set here")
        case (name, value) if !text.matches(value.trim) =>
          invalid(format, name, "a header's value: printable ASCII characters on one line")
      }
      .toLeft {
        val names = wanted.keySet.map(_.toLowerCase)
        wanted.toSeq.sortBy(_._1).map { case (name, value) => name -> value.trim } ++
          defaults.filterNot { case (name, _) => names(name.toLowerCase) }
      }

  /** User info in the URL becomes an Authorization header of its own. */
  def oneAuthorization(format: String, endpoint: Endpoint): Either[EpochalException, Unit] =
    Either.cond(
      endpoint.headers.count { case (name, _) => name.equalsIgnoreCase("Authorization") } <= 1,
      (),
      Conditions.OptionsConflict(
        "format" -> format,
        "options" -> "user info in url, headers.Authorization",
        "suggestion" -> "Keep one of them."))

  private def invalid(format: String, name: String, expected: String): EpochalException =
    Conditions.OptionInvalid(
      "option" -> s"headers.$name",
      "format" -> format,
      "value" -> Redaction.Mask,
      "expected" -> expected,
      "example" -> "headers.Authorization=Bearer <token>")
}
