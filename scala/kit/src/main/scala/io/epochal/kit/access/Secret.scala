package io.epochal.kit.access

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.charset.{CharacterCodingException, CodingErrorAction}
import java.nio.file.{Files, InvalidPathException, NoSuchFileException}

import scala.util.Using

import io.epochal.core.error.{Conditions, EpochalException, Redaction}
import io.epochal.core.option.{OptionList, OptionSpec, OptionType, OptionValues}

/** A password, token or key, and its origin. It is read on the driver each time it is needed, so a rotated secret takes effect.
  * Prints without it, and is serialized to the executors with the value at that moment.
  */
sealed trait Secret extends Serializable {

  /** Reads the secret.
    *
    * @throws EpochalException
    *   SECRET_UNREADABLE if it is missing; OPTION_NOT_ALLOWED if the users of this driver may not name it
    */
  def read(): String

  /** Reads the secret, with the error as a value. */
  final def readable: Either[EpochalException, String] =
    try Right(read())
    catch { case unreadable: EpochalException => Left(unreadable) }
}

object Secret {

  final case class Given(text: String) extends Secret {
    override def read(): String = text
    override def toString: String = Redaction.Mask
  }

  /** The only line of a file.
    *
    * @param option
    *   that names the file
    */
  final case class InFile(option: String, path: String) extends Secret {
    override def read(): String = {
      val text = DriverFile.read(option, path, DriverFile.SecretBytes).fold(unreadable, identity)
      val secret = text.stripSuffix("\n").stripSuffix("\r")
      if (secret.isEmpty) unreadable("it is empty")
      else if (secret.exists(c => c == '\n' || c == '\r')) unreadable("it has more than one line")
      else secret
    }

    private def unreadable(reason: String): Nothing =
      throw Conditions.SecretUnreadable("option" -> s"$option=$path", "reason" -> reason)

    private def writeReplace(): AnyRef = Given(read())
  }

  /** An environment variable of the driver.
    *
    * @param option
    *   that names the variable
    */
  final case class InEnvironment(option: String, name: String) extends Secret {
    override def read(): String = {
      DriverAccess.current.environment(option, name)
      Option(System.getenv(name)).filter(_.nonEmpty).getOrElse {
        throw Conditions.SecretUnreadable(
          "option" -> s"$option=$name",
          "reason" -> "the driver's environment has no such variable, or it is empty")
      }
    }

    private def writeReplace(): AnyRef = Given(read())
  }
}

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
  def requires(values: OptionValues, needed: OptionSpec[_]): Either[EpochalException, Unit] =
    values.together(isSet(values) && !values.isSet(needed), setName(values), needed.name)

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

/** Options, with secrets among them. */
abstract private[epochal] class SecretOptionList extends OptionList {

  /** Declares a secret, which has three options. */
  final protected def secret(name: String, doc: String): SecretOption = {
    val secret = SecretOption(name, doc)
    secret.all.foreach(also(_))
    secret
  }
}

/** Reads a small file that an option names, such as a secret or certificates, on the driver. */
private[epochal] object DriverFile {

  /** The maximum size of a secret. */
  val SecretBytes: Int = 64 << 10

  /** The maximum size of a file of certificates. */
  val CertificateBytes: Int = 1 << 20

  /** Reads a text file.
    *
    * @return
    *   its text, or the reason that it cannot be read
    * @throws EpochalException
    *   OPTION_NOT_ALLOWED
    */
  def read(option: String, path: String, maxBytes: Int): Either[String, String] =
    readBytes(option, path, maxBytes).flatMap { bytes =>
      try Right(decoded(bytes))
      catch { case _: CharacterCodingException => Left("it is not valid UTF-8") }
    }

  /** Reads a binary file. */
  def readBytes(option: String, path: String, maxBytes: Int): Either[String, Array[Byte]] =
    try {
      val file = DriverAccess.current.file(option, path)
      // Opening a pipe or a device may block for ever.
      if (Files.exists(file) && !Files.isRegularFile(file)) Left("it is not a regular file")
      else {
        val bytes = Using.resource(Files.newInputStream(file))(_.readNBytes(maxBytes + 1))
        if (bytes.length > maxBytes) Left(s"it has more than $maxBytes bytes") else Right(bytes)
      }
    } catch {
      case _: NoSuchFileException  => Left("there is no such file on the driver")
      case e: InvalidPathException => Left(e.getReason)
      case e: IOException          => Left(e.getClass.getSimpleName)
    }

  private def decoded(bytes: Array[Byte]): String =
    UTF_8.newDecoder
      .onMalformedInput(CodingErrorAction.REPORT)
      .onUnmappableCharacter(CodingErrorAction.REPORT)
      .decode(java.nio.ByteBuffer.wrap(bytes))
      .toString
}
