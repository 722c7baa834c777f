package io.epochal.kit.access

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}

/** A secret given by value, in a file or in an environment variable: three mutually exclusive options.
  *
  * @param what
  *   begins each option's description
  */
final case class SecretOption(name: String, what: String) {

  val text: OptionSpec[String] = OptionSpec(name, OptionType.string, s"$what.", secret = true)

  val file: OptionSpec[String] = OptionSpec(
    s"${name}File",
    OptionType.string,
    s"$what, in a file that the driver reads; a line break at its end does not count.",
    sample = Some("/run/secrets/api"))

  val environment: OptionSpec[String] = OptionSpec(
    s"${name}Env",
    OptionType.string,
    s"$what, in an environment variable of the driver with this name.",
    sample = Some("API_SECRET"))

  val all: Seq[OptionSpec[String]] = Seq(text, file, environment)

  def isSet(values: OptionValues): Boolean = all.exists(values.isSet(_))

  /** The option that is set, as the user wrote its name. */
  def setName(values: OptionValues): String = all.find(values.isSet(_)).fold(name)(_.name)

  /** An error if it is set without the option that it belongs to. */
  def requires(values: OptionValues, companion: OptionSpec[_]): Either[EpochalException, Unit] =
    values.together(isSet(values) && !values.isSet(companion), setName(values), companion.name)

  def of(values: OptionValues): Either[EpochalException, Option[Secret]] =
    values.exclusive("The secret comes from one place: keep one of them.")(all: _*).map { _ =>
      values
        .get(text)
        .map(Secret.Given(_))
        .orElse(values.get(file).map(Secret.InFile(file.name, _)))
        .orElse(values.get(environment).map(Secret.InEnvironment(environment.name, _)))
    }

  /** Reads its current value. */
  def read(values: OptionValues): Either[EpochalException, Option[String]] = of(values).flatMap {
    case Some(secret) => secret.readable.map(Some(_))
    case None         => Right(None)
  }
}
