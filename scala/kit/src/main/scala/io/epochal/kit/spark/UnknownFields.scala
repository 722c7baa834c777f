package io.epochal.kit.spark

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.core.io.JsonStringEncoder
import com.fasterxml.jackson.core.{JsonParseException, JsonParser}
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.json.JsonScan

/** Collects fields without a column into one JSON object, with their values unchanged. One record at a time. */
final private[spark] class UnknownFields {
  private val encoder = JsonStringEncoder.getInstance()
  private val out = new ByteArrayOutputStream
  private val Null = "null".getBytes(UTF_8)

  /** Adds the field whose value `parser` is at, and leaves the parser at the value's last token. The parser must read an array
    * of UTF-8 from its first byte on, with `StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION`.
    */
  def add(parser: JsonParser): Unit = {
    name(parser.currentName)
    val begin = parser.currentTokenLocation()
    parser.skipChildren()
    parser.finishToken()
    val text = begin.contentReference().getRawContent.asInstanceOf[Array[Byte]]
    val from = begin.getByteOffset.toInt
    val until = parser.currentLocation().getByteOffset.toInt
    // Jackson skips some sequences that are not UTF-8.
    if (!new JsonScan(text, from, until).text()) throw new JsonParseException(parser, "a text is not in UTF-8")
    out.write(text, from, until - from)
  }

  def add(field: String, text: String): Unit = {
    name(field)
    if (text == null) out.writeBytes(Null) else quote(text)
  }

  /** Drops the fields of an incomplete record. */
  def clear(): Unit = out.reset()

  /** Returns the object and resets it; null if there was no field. */
  def take(): UTF8String =
    if (out.size == 0) null
    else {
      out.write('}'.toInt)
      val text = UTF8String.fromBytes(out.toByteArray)
      out.reset()
      text
    }

  private def name(field: String): Unit = {
    out.write((if (out.size == 0) '{' else ',').toInt)
    quote(field)
    out.write(':'.toInt)
  }

  private def quote(text: String): Unit = {
    out.write('"'.toInt)
    out.writeBytes(encoder.quoteAsUTF8(text))
    out.write('"'.toInt)
  }
}
