package io.epochal.kit.spark

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import com.fasterxml.jackson.core.JsonParser
import com.fasterxml.jackson.core.io.JsonStringEncoder
import org.apache.spark.unsafe.types.UTF8String

/** Gathers fields that have no column into one JSON object, their values as they were written. One record at a time. */
final private[spark] class UnknownFields {

  private val encoder = JsonStringEncoder.getInstance()
  private var bytes = new Array[Byte](UnknownFields.FirstSize)
  private var used = 0

  /** Adds the field whose value `parser` stands at, and leaves it at the value's last token. The parser reads an array of
    * UTF-8 from its first byte on, and knows it: `StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION`.
    */
  def add(parser: JsonParser): Unit = {
    name(parser.currentName)
    val begin = parser.currentTokenLocation()
    parser.skipChildren()
    parser.finishToken()
    val from = begin.getByteOffset.toInt
    val until = parser.currentLocation().getByteOffset.toInt
    append(begin.contentReference().getRawContent.asInstanceOf[Array[Byte]], from, until)
  }

  /** Adds a field with a text, or null. */
  def add(field: String, text: String): Unit = {
    name(field)
    if (text == null) append(UnknownFields.Null)
    else quoted(text)
  }

  /** Forgets the fields of a record that was left half way. */
  def clear(): Unit = used = 0

  /** The object, and an empty one from now on; null where there was no field. */
  def take(): UTF8String =
    if (used == 0) null
    else {
      append(UnknownFields.End)
      val text = UTF8String.fromBytes(Arrays.copyOf(bytes, used))
      used = 0
      text
    }

  private def name(field: String): Unit = {
    append(if (used == 0) UnknownFields.Begin else UnknownFields.Comma)
    quoted(field)
    append(UnknownFields.Colon)
  }

  private def quoted(text: String): Unit = {
    append(UnknownFields.Quote)
    append(encoder.quoteAsUTF8(text))
    append(UnknownFields.Quote)
  }

  private def append(all: Array[Byte]): Unit = append(all, 0, all.length)

  private def append(from: Array[Byte], begin: Int, end: Int): Unit = {
    val needed = used + end - begin
    if (needed > bytes.length) bytes = Arrays.copyOf(bytes, math.max(needed, bytes.length * 2))
    System.arraycopy(from, begin, bytes, used, end - begin)
    used = needed
  }
}

private object UnknownFields {
  private val FirstSize = 256
  private val Begin = Array[Byte]('{')
  private val Comma = Array[Byte](',')
  private val Colon = Array[Byte](':')
  private val Quote = Array[Byte]('"')
  private val End = Array[Byte]('}')
  private val Null = "null".getBytes(UTF_8)
}
