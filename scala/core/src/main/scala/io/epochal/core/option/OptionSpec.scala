package io.epochal.core.option

import io.epochal.core.annotation.Stable
import io.epochal.core.error.Reference

/** One option, declared once: parsing, errors, `docs/OPTIONS.md` and the Python signatures all come from here.
  *
  * @param name
  *   as the user writes it; a family of options ends in `.*` (`headers.*`)
  * @param default
  *   what holds when it is absent; None means that absence itself has a meaning, described in `doc`
  * @param secret
  *   its value appears in no message, plan or log
  */
@Stable
final case class OptionSpec[A](
    name: String,
    kind: OptionType[A],
    doc: String,
    default: Option[A] = None,
    required: Boolean = false,
    secret: Boolean = false,
    sample: Option[String] = None
) {

  def isFamily: Boolean = name.endsWith(".*")

  /** `headers.` for `headers.*`. */
  def prefix: String = name.stripSuffix("*")

  /** Its name in the text of an error. */
  private[epochal] def reference: String = Reference.option(name)

  def example: String = s"$name=${sample.getOrElse(kind.example)}"

  def defaultText: Option[String] = default.map(kind.render)

  // The same declaration with one thing changed, for those that write no Scala.

  /** With what holds when it is absent. */
  def withDefault(value: A): OptionSpec[A] = copy(default = Some(value))

  /** One that must be given. */
  def asRequired: OptionSpec[A] = copy(required = true)

  /** One whose value appears in no message, plan or log. */
  def asSecret: OptionSpec[A] = copy(secret = true)

  /** With a value that the documentation shows. */
  def withExample(value: String): OptionSpec[A] = copy(sample = Some(value))
}
