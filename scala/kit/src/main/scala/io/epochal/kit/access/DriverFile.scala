package io.epochal.kit.access

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.charset.{CharacterCodingException, CodingErrorAction}
import java.nio.file.{Files, InvalidPathException, NoSuchFileException}

import scala.util.Using

/** A small file that an option names: a secret, certificates. Read on the driver. */
private[epochal] object DriverFile {

  /** The longest secret. */
  val SecretBytes: Int = 64 << 10

  /** The longest file of certificates. */
  val CertificateBytes: Int = 1 << 20

  /** @return
    *   its text, or why it cannot be had
    * @throws EpochalException
    *   OPTION_NOT_ALLOWED
    */
  def read(option: String, path: String, maxBytes: Int): Either[String, String] =
    readBytes(option, path, maxBytes).flatMap { bytes =>
      try Right(decoded(bytes))
      catch { case _: CharacterCodingException => Left("it is not valid UTF-8") }
    }

  /** The same of a file that is no text. */
  def readBytes(option: String, path: String, maxBytes: Int): Either[String, Array[Byte]] =
    try {
      val file = DriverAccess.current.file(option, path)
      // To open a pipe or a device may wait for ever.
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
