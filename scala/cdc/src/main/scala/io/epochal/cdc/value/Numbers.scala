package io.epochal.cdc.value

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.util.Arrays

import org.postgresql.util.ByteConverter

private object BooleanReader extends ValueReader {
  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any = bytes(offset) != 0
  override def text(bytes: Array[Byte], offset: Int, length: Int): Any = bytes(offset) == 't'
}

/** Integers and floating-point numbers are also read from narrower ones: rows from before ALTER TABLE widened their column. */
private object ShortReader extends ValueReader {
  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any = ByteConverter.int2(bytes, offset)
  override def text(bytes: Array[Byte], offset: Int, length: Int): Any = Numbers.whole(bytes, offset, length).toShort
}

private object IntReader extends ValueReader {
  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any =
    if (length == 4) ByteConverter.int4(bytes, offset) else ByteConverter.int2(bytes, offset).toInt
  override def text(bytes: Array[Byte], offset: Int, length: Int): Any = Numbers.whole(bytes, offset, length).toInt
}

private object LongReader extends ValueReader {
  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any =
    if (length == 8) ByteConverter.int8(bytes, offset)
    else if (length == 4) ByteConverter.int4(bytes, offset).toLong
    else ByteConverter.int2(bytes, offset).toLong
  override def text(bytes: Array[Byte], offset: Int, length: Int): Any = Numbers.whole(bytes, offset, length)
}

/** PostgreSQL prints the shortest text that identifies the number, and NaN and the infinities as Java does. */
private object FloatReader extends ValueReader {
  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any = ByteConverter.float4(bytes, offset)
  override def text(bytes: Array[Byte], offset: Int, length: Int): Any =
    java.lang.Float.parseFloat(new String(bytes, offset, length, ISO_8859_1))
}

private object DoubleReader extends ValueReader {
  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any =
    if (length == 8) ByteConverter.float8(bytes, offset) else ByteConverter.float4(bytes, offset).toDouble
  override def text(bytes: Array[Byte], offset: Int, length: Int): Any =
    java.lang.Double.parseDouble(new String(bytes, offset, length, ISO_8859_1))
}

private object BytesReader extends ValueReader {
  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any =
    Arrays.copyOfRange(bytes, offset, offset + length)

  /** `\x`, then hexadecimal digits. */
  override def text(bytes: Array[Byte], offset: Int, length: Int): Any = {
    if (length < 2 || bytes(offset) != '\\' || bytes(offset + 1) != 'x')
      throw new IllegalStateException("bytea_output of the session is not hex")
    val value = new Array[Byte](length / 2 - 1)
    var i = 0
    while (i < value.length) {
      val at = offset + 2 + 2 * i
      value(i) = (Character.digit(bytes(at).toInt, 16) << 4 | Character.digit(bytes(at + 1).toInt, 16)).toByte
      i += 1
    }
    value
  }
}

private object Numbers {

  /** Parses what the server prints of an integer. */
  def whole(bytes: Array[Byte], offset: Int, length: Int): Long = {
    val negative = bytes(offset) == '-'
    var value = 0L
    var i = if (negative) offset + 1 else offset
    val end = offset + length
    while (i < end) {
      value = value * 10 - (bytes(i) - '0') // the negative numbers are one more
      i += 1
    }
    if (negative) value else -value
  }

  def digits(bytes: Array[Byte], from: Int, until: Int): Int = whole(bytes, from, until - from).toInt
}
