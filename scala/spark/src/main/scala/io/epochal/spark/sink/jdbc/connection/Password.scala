package io.epochal.spark.sink.jdbc.connection

import java.io.IOException
import java.nio.charset.CharacterCodingException
import java.nio.file.{Files, InvalidPathException, NoSuchFileException, Paths}

import io.epochal.core.error.{Conditions, Redaction}

/** Where the password comes from. It is read on the driver whenever a connection is made, so that one that was changed
  * counts from the next connection on. Prints without it.
  */
sealed trait Password {

  /** @throws EpochalException
    *   PASSWORD_UNREADABLE, when it is not there
    */
  def read(): String
}

object Password {

  final case class Given(text: String) extends Password {
    override def read(): String = text
    override def toString: String = Redaction.Mask
  }

  /** All of a file but one line break at its end. */
  final case class InFile(path: String) extends Password {
    override def read(): String = {
      val text =
        try Files.readString(Paths.get(path))
        catch {
          case _: NoSuchFileException      => unreadable("there is no such file on the driver")
          case _: CharacterCodingException => unreadable("it is not valid UTF-8")
          case e: InvalidPathException     => unreadable(e.getReason)
          case e: IOException              => unreadable(e.getClass.getSimpleName)
        }
      val password = text.stripSuffix("\n").stripSuffix("\r")
      if (password.isEmpty) unreadable("it is empty") else password
    }

    private def unreadable(reason: String): Nothing =
      throw Conditions.PasswordUnreadable("option" -> s"passwordFile=$path", "reason" -> reason)
  }

  /** A variable of the driver's environment. */
  final case class InEnvironment(name: String) extends Password {
    override def read(): String = Option(System.getenv(name)).filter(_.nonEmpty).getOrElse {
      throw Conditions.PasswordUnreadable(
        "option" -> s"passwordEnv=$name",
        "reason" -> "the driver's environment has no such variable, or it is empty")
    }
  }
}
