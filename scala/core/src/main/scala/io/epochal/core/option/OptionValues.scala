package io.epochal.core.option

import io.epochal.core.error.{EpochalException, Redaction}

/** Options that were parsed and validated. Prints without secrets. */
final class OptionValues private[option] (val group: OptionGroup, values: Map[String, Any]) extends Serializable {

  /** The given value, else the default. An option with neither is a bug: use `get`. */
  def apply[A](spec: OptionSpec[A]): A =
    get(spec).getOrElse(throw new NoSuchElementException(s"the option ${spec.name} has no value and no default"))

  def get[A](spec: OptionSpec[A]): Option[A] = values.get(spec.name).map(_.asInstanceOf[A]).orElse(spec.default)

  /** The value of an option that another option requires. */
  def required[A](spec: OptionSpec[A]): Either[EpochalException, A] = get(spec).toRight(group.missing(spec))

  def isSet(spec: OptionSpec[_]): Boolean = values.contains(spec.name)

  /** A copy with another value of an option. */
  def copyWith[A](spec: OptionSpec[A], value: A): OptionValues =
    new OptionValues(group, values.updated(spec.name, value))

  /** The members of a family, by their names without the prefix. */
  def family[A](spec: OptionSpec[A]): Map[String, A] = values.collect {
    case (name, value) if name.startsWith(spec.prefix) => name.substring(spec.prefix.length) -> value.asInstanceOf[A]
  }

  /** An error if more than one of them is set. */
  def exclusive(suggestion: String)(specs: OptionSpec[_]*): Either[EpochalException, Unit] = {
    val set = specs.filter(isSet(_)).map(_.reference)
    consistent(set.size <= 1)(set.mkString(", "), suggestion)
  }

  /** An error if an option is set without the one that it belongs to.
    *
    * @param lacking
    *   whether that is so
    * @param option
    *   as the user wrote its name
    */
  def together(lacking: Boolean, option: => String, companion: String): Either[EpochalException, Unit] =
    consistent(!lacking)(
      s"{option:$option} without {option:$companion}",
      s"Set {option:$companion} too, or leave {option:$option} out.")

  /** An error if one of the options is set, which have no effect without another.
    *
    * @param holds
    *   whether the other one is set
    * @param other
    *   a reference to it, with its value
    */
  def only(specs: OptionSpec[_]*)(holds: Boolean, other: String): Either[EpochalException, Unit] =
    specs
      .find(spec => !holds && isSet(spec))
      .map(_.reference)
      .map(set => conflict(s"$set without $other", s"Set $other, or leave $set out."))
      .toLeft(())

  /** An error unless `holds`, which states whether options may be combined. */
  def consistent(holds: Boolean)(options: => String, suggestion: => String): Either[EpochalException, Unit] =
    Either.cond(holds, (), conflict(options, suggestion))

  /** The error for options that exclude each other. */
  def conflict(options: String, suggestion: String): EpochalException = group.conflict(options, suggestion)

  override def toString: String = {
    val secrets = group.specs.filter(_.secret).map(_.prefix).toSet
    def isSecret(name: String): Boolean = secrets.exists(s => if (s.endsWith(".")) name.startsWith(s) else name == s)
    values.toSeq
      .sortBy(_._1)
      .map { case (name, value) => s"$name=${if (isSecret(name)) Redaction.Mask else Redaction.text(value.toString)}" }
      .mkString(s"${group.format}(", ", ", ")")
  }
}
