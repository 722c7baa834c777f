package io.epochal.rest.http.request

import scala.collection.mutable

import io.epochal.core.option.{OptionSpec, OptionType}
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
