package io.epochal.rest.http

import java.util.Locale

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.OptionGroup
import io.epochal.core.version.Version

/** The headers of every request: the user's, checked, and defaults for the rest. */
private[epochal] object HttpHeaders {

  private val token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+".r
  private val text = "[\\t\\x20-\\x7e\\x80-\\xff]*".r

  /** Headers of the connection, and those that decide how a response is read: users cannot set them. */
  private val ours =
    Set("host", "connection", "content-length", "transfer-encoding", "te", "upgrade", "accept-encoding", "range")

  val Codings: Seq[String] = "gzip" +: Option.when(ZstdBody.isAvailable)("zstd").toSeq

  private val defaults = Seq(
    "Accept" -> "application/json",
    "Accept-Encoding" -> Codings.mkString(", "),
    "User-Agent" -> s"epochal/${Version.text}")

  def of(format: String, custom: Map[String, String]): Either[EpochalException, Seq[(String, String)]] =
    custom.toSeq
      .sortBy(_._1)
      .flatMap { case (header, content) =>
        val option = s"headers.$header"
        name(format, option, header).flatMap(_ => value(format, option, content.trim)).left.toOption
      }
      .headOption
      .toLeft {
        val names = custom.keySet.map(_.toLowerCase(Locale.ROOT))
        custom.toSeq.sortBy(_._1).map { case (name, value) => name -> value.trim } ++
          defaults.filterNot { case (name, _) => names(name.toLowerCase(Locale.ROOT)) }
      }

  /** @param option
    *   contains the header's name, or is named after it
    */
  def name(format: String, option: String, name: String): Either[EpochalException, Unit] =
    if (!token.matches(name)) Left(invalid(format, option, "a header's name"))
    else if (ours(name.toLowerCase(Locale.ROOT))) Left(invalid(format, option, "a header that may be set here"))
    else Right(())

  def value(format: String, option: String, value: String): Either[EpochalException, Unit] =
    Either.cond(
      text.matches(value),
      (),
      invalid(format, option, "a header's value: printable ASCII characters on one line"))

  /** Whether a header is a default: its value is no secret. */
  def isDefault(header: (String, String)): Boolean = defaults.contains(header)

  private def invalid(format: String, option: String, requirement: String): EpochalException =
    OptionGroup.invalid(format, option, Redaction.Mask, requirement, "headers.Authorization=Bearer <token>")
}
