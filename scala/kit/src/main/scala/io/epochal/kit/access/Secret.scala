package io.epochal.kit.access

import io.epochal.core.error.{Conditions, EpochalException, Redaction}

/** A password, token or key, and where it comes from. It is read on the driver whenever it is needed, so that one that was
  * changed counts from then on. Prints without it, and travels to the executors as it was read when it left.
  */
sealed trait Secret extends Serializable {

  /** @throws EpochalException
    *   SECRET_UNREADABLE, when it is not there; OPTION_NOT_ALLOWED, when this driver's users may not name it
    */
  def read(): String

  /** The same, with the error as a value. */
  final def readable: Either[EpochalException, String] =
    try Right(read())
    catch { case unreadable: EpochalException => Left(unreadable) }
}

object Secret {

  final case class Given(text: String) extends Secret {
    override def read(): String = text
    override def toString: String = Redaction.Mask
  }

  /** The one line of a file.
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

  /** A variable of the driver's environment.
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
