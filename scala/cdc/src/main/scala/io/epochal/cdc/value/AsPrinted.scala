package io.epochal.cdc.value

import java.nio.charset.StandardCharsets.ISO_8859_1

import org.apache.spark.unsafe.types.UTF8String
import org.postgresql.util.ByteConverter

/** Types whose text form is the value. */
abstract private class AsPrinted extends ValueReader {
  override def text(bytes: Array[Byte], offset: Int, length: Int): Any = UTF8String.fromBytes(bytes, offset, length)
}

private object TextReader extends AsPrinted {
  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any = text(bytes, offset, length)
}

/** In binary form a version byte precedes the text. */
private object JsonbReader extends AsPrinted {
  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any =
    if (bytes(offset) == 1) text(bytes, offset + 1, length - 1)
    else throw new UnreadableValue(s"its binary form has the version ${bytes(offset)}")
}

private object UuidReader extends AsPrinted {
  private val HexDigits = "0123456789abcdef".getBytes(ISO_8859_1)

  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any = {
    val digits = new Array[Byte](36)
    var at = 0
    var i = 0
    while (i < 16) {
      if (i == 4 || i == 6 || i == 8 || i == 10) {
        digits(at) = '-'
        at += 1
      }
      digits(at) = HexDigits((bytes(offset + i) >> 4) & 0xf)
      digits(at + 1) = HexDigits(bytes(offset + i) & 0xf)
      at += 2
      i += 1
    }
    UTF8String.fromBytes(digits)
  }
}

/** Numbers of 32 bits without a sign. */
private object UnsignedReader extends AsPrinted {
  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any =
    UTF8String.fromString(Integer.toUnsignedString(ByteConverter.int4(bytes, offset)))
}
