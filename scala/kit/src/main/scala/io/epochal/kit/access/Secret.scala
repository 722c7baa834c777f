package io.epochal.kit.access

import io.epochal.core.error.{Conditions, EpochalException, Redaction}

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
