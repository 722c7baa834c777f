package io.epochal.core.option

import scala.collection.mutable

/** Options, in the order of declaration. */
abstract private[epochal] class OptionList {
  private val specs = mutable.ArrayBuffer.empty[OptionSpec[_]]

  /** The options in the order of declaration. */
  def all: Seq[OptionSpec[_]] = specs.toSeq

  /** Declares an option: the arguments are those of [[OptionSpec]]. */
  final protected def option[A](
      name: String,
      kind: OptionType[A],
      default: Option[A] = None,
      sample: Option[String] = None,
      required: Boolean = false,
      secret: Boolean = false)(doc: String): OptionSpec[A] =
    also(OptionSpec(name, kind, doc, default, required, secret, sample))

  /** Adds an option that another object declares. */
  final protected def also[A](spec: OptionSpec[A]): OptionSpec[A] = {
    specs += spec
    spec
  }

  final private[epochal] def ensure[E](holds: Boolean)(error: => E): Either[E, Unit] = Either.cond(holds, (), error)
}
