package io.epochal.kit.record

import java.io.{ByteArrayInputStream, InputStream, InputStreamReader, SequenceInputStream}
import java.nio.charset.StandardCharsets.{US_ASCII, UTF_16, UTF_8}
import java.nio.charset.{CharacterCodingException, Charset}

import scala.util.Try

/** Converts text that is not in UTF-8: records are read as UTF-8 only. */
private[epochal] object TextEncoding {

  /** The charset that a `Content-Type` declares, in quotes or not; None: it declares none. */
  def declared(contentType: String): Option[String] = {
    // Every second piece is in quotes.
    val pieces = contentType.split("\"", -1).zipWithIndex.map { case (text, i) =>
      if (i % 2 == 1) text.replace(';', ' ') else text
    }
    pieces.mkString
      .split(';')
      .drop(1)
      .map(_.split("=", 2).map(_.trim))
      .collectFirst {
        case Array(name, charset) if name.equalsIgnoreCase("charset") => charset.stripPrefix("'").stripSuffix("'")
      }
      .filter(_.nonEmpty)
  }

  /** The charset of that name, in any case; None: this JVM does not know it. */
  def named(charset: String): Option[Charset] = Try(Charset.forName(charset)).toOption

  /** UTF-8, or in it what `charset` declares.
    *
    * @param in
    *   not compressed
    * @param charset
    *   overridden by a byte order mark, as in the WHATWG's Encoding Standard
    * @param limit
    *   maximum number of bytes that are decoded: some charsets have sequences that decode to nothing
    * @throws BodyProblem
    *   from here or from a read: the text is compressed, or is not in its charset
    */
  def utf8(in: InputStream, charset: Option[Charset], limit: Long): InputStream = {
    val front = in.readNBytes(FrontBytes)
    if (isGzip(front, front.length))
      throw new BodyProblem("it is compressed by gzip, and its Content-Encoding does not say so")
    val all = new SequenceInputStream(new ByteArrayInputStream(front), in)
    of(front, front.length, charset).fold[InputStream](all)(new Utf8Stream(all, _, limit))
  }

  /** The charset of a text that must be converted; None: it is in UTF-8. */
  def of(bytes: Array[Byte], length: Int, charset: Option[Charset]): Option[Charset] = {
    def at(index: Int): Int = if (index < math.min(length, FrontBytes)) bytes(index) & 0xff else -1
    val front = (at(0), at(1), at(2), at(3))
    front match {
      case (0xef, 0xbb, 0xbf, _) => None
      case (0, 0, 0xfe, 0xff)    => charsetNamed("UTF-32BE")
      case (0xff, 0xfe, 0, 0)    => charsetNamed("UTF-32LE")
      case (0xfe, 0xff, _, _)    => charsetNamed("UTF-16BE")
      case (0xff, 0xfe, _, _)    => charsetNamed("UTF-16LE")
      // The WHATWG's default, except for what begins with an ASCII character in the other order.
      case (0, c, _, _) if c > 0 && isUtf16(charset) => charsetNamed("UTF-16BE")
      case _ if isUtf16(charset)                     => charsetNamed("UTF-16LE")
      case _ if !charset.forall(isUtf8)              => charset
      // RFC 4627, section 3: JSON begins with two ASCII characters.
      case (0, 0, 0, c) if c > 0 => charsetNamed("UTF-32BE")
      case (c, 0, 0, 0) if c > 0 => charsetNamed("UTF-32LE")
      case (0, c, _, _) if c > 0 => charsetNamed("UTF-16BE")
      case (c, 0, _, _) if c > 0 => charsetNamed("UTF-16LE")
      case _                     => None
    }
  }

  /** Whether the bytes begin as gzip does (RFC 1952). */
  def isGzip(bytes: Array[Byte], length: Int): Boolean =
    length >= 2 && bytes(0) == 0x1f && bytes(1) == 0x8b.toByte

  /** ASCII is a part of UTF-8. */
  private def isUtf8(charset: Charset): Boolean = charset == UTF_8 || charset == US_ASCII

  /** Whether the charset leaves the order of the bytes open. */
  private def isUtf16(charset: Option[Charset]): Boolean = charset.contains(UTF_16)

  private def charsetNamed(name: String) = Some(Charset.forName(name))

  private val FrontBytes = 4
}

/** Text, read as UTF-8 without its byte order mark.
  *
  * @param limit
  *   maximum number of bytes of `in`
  * @throws BodyProblem
  *   from `read`: the bytes are not in the charset, or are too many
  */
final private class Utf8Stream(in: InputStream, charset: Charset, limit: Long) extends InputStream {
  private val countedStream = new InputStream {
    private var total = 0L

    override def read(into: Array[Byte], offset: Int, count: Int): Int = {
      val some = in.read(into, offset, count)
      total += some
      if (total > limit) throw new BodyProblem(s"it has more than $limit bytes in ${charset.name}")
      some
    }

    override def read(): Int = throw new UnsupportedOperationException // The reader reads many bytes at once.
  }
  // A new decoder reports what is wrong, and never divides a surrogate pair.
  private val reader = new InputStreamReader(countedStream, charset.newDecoder())
  private val chars = new Array[Char](8 << 10)
  private var bytes = Array.emptyByteArray
  private var at = 0
  private var begun = false
  private var ended = false

  override def read(into: Array[Byte], offset: Int, count: Int): Int = {
    while (at == bytes.length && !ended) fill()
    if (ended) -1
    else {
      val some = math.min(count, bytes.length - at)
      System.arraycopy(bytes, at, into, offset, some)
      at += some
      some
    }
  }

  override def read(): Int = {
    val one = new Array[Byte](1)
    if (read(one, 0, 1) < 0) -1 else one(0) & 0xff
  }

  private def fill(): Unit = {
    val count =
      try reader.read(chars, 0, chars.length)
      catch { case _: CharacterCodingException => throw new BodyProblem(s"it is not in ${charset.name}") }
    val mark = if (!begun && count > 0 && chars(0) == '\ufeff') 1 else 0
    begun = true
    ended = count < 0
    if (!ended) bytes = new String(chars, mark, count - mark).getBytes(UTF_8)
    at = 0
  }
}
