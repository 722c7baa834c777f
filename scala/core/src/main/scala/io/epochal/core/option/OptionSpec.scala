package io.epochal.core.option

import io.epochal.core.annotation.Stable
import io.epochal.core.error.Reference

/** An option, declared once: parsing, errors, `docs/OPTIONS.md` and the Python signatures all derive from it.
  *
  * @param name
  *   as the user writes it; a family of options ends in `.*` (`headers.*`)
  * @param default
  *   the value if it is not set; None means that its absence has a meaning of its own, described in `doc`
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

  /** Its reference in the text of an error. */
  private[epochal] def reference: String = Reference.option(name)

  def example: String = s"$name=${sample.getOrElse(kind.example)}"

  def defaultText: Option[String] = default.map(kind.render)

  // Copies with one field changed, for authors who write Java.

  def withDefault(value: A): OptionSpec[A] = copy(default = Some(value))

  def asRequired: OptionSpec[A] = copy(required = true)

  /** A secret option, whose value appears in no message, plan or log. */
  def asSecret: OptionSpec[A] = copy(secret = true)

  def withExample(value: String): OptionSpec[A] = copy(sample = Some(value))
}
