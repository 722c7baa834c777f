package io.epochal.rest.http

import java.util.Locale

import scala.collection.mutable

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionType}
import io.epochal.core.version.Version
import io.epochal.kit.access.SecretOption

/** Options, in the order of declaration. */
abstract private[rest] class OptionList {
  private val declared = mutable.ArrayBuffer.empty[OptionSpec[_]]

  /** The options in the order of declaration. */
  def all: Seq[OptionSpec[_]] = declared.toSeq

  /** Declares an option: the arguments are those of [[OptionSpec]]. */
  protected def option[A](
      name: String,
      kind: OptionType[A],
      default: Option[A] = None,
      sample: Option[String] = None,
      required: Boolean = false,
      secret: Boolean = false)(doc: String): OptionSpec[A] =
    also(OptionSpec(name, kind, doc, default, required, secret, sample))

  /** Declares a secret, which has three options. */
  protected def secret(name: String, doc: String): SecretOption = {
    val secret = SecretOption(name, doc)
    declared ++= secret.all
    secret
  }

  /** Adds an option that another object declares. */
  protected def also[A](spec: OptionSpec[A]): OptionSpec[A] = {
    declared += spec
    spec
  }

  /** An error unless a condition holds. */
  final private[rest] def ensure[E](holds: Boolean)(error: => E): Either[E, Unit] = Either.cond(holds, (), error)
}

/** The options for headers and parameters of every request. */
object RequestOptions extends OptionList {

  val Headers =
    option("headers.*", OptionType.string, secret = true)("Headers of every request, as headers.Authorization.")
  val Params = option("params.*", OptionType.string, secret = true)("Query parameters of every request.")
}

/** The headers of every request: the user's, checked, and defaults for the rest. */
private[epochal] object HttpHeaders {

  private val token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+".r
  private val text = "[\\t\\x20-\\x7e\\x80-\\xff]*".r

  /** Headers of the connection, and those that decide how a response is read: users cannot set them. */
  private val ours =
    Set("host", "connection", "content-length", "transfer-encoding", "te", "upgrade", "accept-encoding", "range")

  private val defaults =
    Seq("Accept" -> "application/json", "Accept-Encoding" -> "gzip", "User-Agent" -> s"epochal/${Version.text}")

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

  private def invalid(format: String, option: String, expected: String): EpochalException =
    OptionGroup.invalid(format, option, Redaction.Mask, expected, "headers.Authorization=Bearer <token>")
}
