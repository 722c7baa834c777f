package io.epochal.rest.source.record

import java.nio.charset.Charset
import java.nio.charset.StandardCharsets.UTF_8

import io.epochal.rest.http.request.BodyBuffer

/** The bytes of an answer, or of a part of it, in UTF-8.
  *
  * @param isInPlace
  *   whether they are as they came; otherwise they came in UTF-16 or UTF-32, and were translated
  */
final private[rest] class Utf8Body(val bytes: Array[Byte], val length: Int, val isInPlace: Boolean = true)

private[rest] object Utf8Body {

  /** Of an answer that lies in a file: what memory has of it.
    *
    * @throws BodyProblem
    *   where that would have to be translated
    */
  def of(body: BodyBuffer): Utf8Body = encoding(body) match {
    case None => new Utf8Body(body.bytes, math.min(body.length, body.bytes.length))
    case Some(charset) if body.file.nonEmpty =>
      throw new BodyProblem(s"it is in $charset, and too large to be read in anything but UTF-8")
    case Some(charset) =>
      val bytes = new String(body.bytes, 0, body.length, charset).getBytes(UTF_8)
      new Utf8Body(bytes, bytes.length, isInPlace = false)
  }

  /** RFC 4627, section 3: the first characters are ASCII, or a byte order mark, so the zeros among their bytes tell. */
  private def encoding(body: BodyBuffer): Option[Charset] = {
    def at(index: Int): Int = if (index < body.length) body.bytes(index) & 0xff else -1
    val name = (at(0), at(1), at(2), at(3)) match {
      case (0, 0, 0, c) if c > 0 => "UTF-32BE"
      case (0, 0, 0xfe, 0xff)    => "UTF-32BE"
      case (c, 0, 0, 0) if c > 0 => "UTF-32LE"
      case (0xff, 0xfe, 0, 0)    => "UTF-32LE"
      case (0, c, _, _) if c > 0 => "UTF-16BE"
      case (0xfe, 0xff, _, _)    => "UTF-16BE"
      case (c, 0, _, _) if c > 0 => "UTF-16LE"
      case (0xff, 0xfe, _, _)    => "UTF-16LE"
      case _                     => ""
    }
    Option.when(name.nonEmpty)(Charset.forName(name))
  }
}
