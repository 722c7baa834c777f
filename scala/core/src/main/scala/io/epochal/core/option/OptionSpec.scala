package io.epochal.core.option

/** One option, declared once: parsing, errors, `docs/OPTIONS.md` and the Python signatures all come from here.
  *
  * @param name
  *   as the user writes it; a family of options ends in `.*` (`headers.*`)
  * @param default
  *   what holds when it is absent; None means that absence itself has a meaning, told in `doc`
  * @param secret
  *   its value appears in no message, plan or log
  */
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

  def example: String = s"$name=${sample.getOrElse(kind.example)}"

  def defaultText: Option[String] = default.map(kind.render)
}
