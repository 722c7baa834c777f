package io.epochal.kit.access

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.charset.{CharacterCodingException, CodingErrorAction}
import java.nio.file.{Files, InvalidPathException, NoSuchFileException}

import scala.util.Using

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
      try Right(decode(bytes))
      catch { case _: CharacterCodingException => Left("it is not valid UTF-8") }
    }

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

  private def decode(bytes: Array[Byte]): String =
    UTF_8.newDecoder
      .onMalformedInput(CodingErrorAction.REPORT)
      .onUnmappableCharacter(CodingErrorAction.REPORT)
      .decode(java.nio.ByteBuffer.wrap(bytes))
      .toString
}
