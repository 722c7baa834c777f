package io.epochal.kit.json

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

/** Strings that are written with escapes. */
private[epochal] object PlainText {

  /** The string between two bytes, which `scan` has passed over, in UTF-8. */
  def unescaped(scan: JsonScan, from: Int, until: Int): Array[Byte] = {
    val bytes = scan.bytes
    val text = new Array[Byte](until - from) // An escape is longer than what it stands for.
    var length = 0
    var i = from
    while (i < until)
      if (bytes(i) != '\\') {
        text(length) = bytes(i)
        length += 1
        i += 1
      } else if (bytes(i + 1) != 'u') {
        text(length) = bytes(i + 1) match {
          case 'b'  => '\b'
          case 'f'  => '\f'
          case 'n'  => '\n'
          case 'r'  => '\r'
          case 't'  => '\t'
          case self => self
        }
        length += 1
        i += 2
      } else {
        val unit = scan.hex(i + 2).toChar
        val paired = Character.isHighSurrogate(unit)
        val point = if (paired) Character.toCodePoint(unit, scan.hex(i + 8).toChar) else unit.toInt
        val character = Character.toString(point).getBytes(UTF_8)
        System.arraycopy(character, 0, text, length, character.length)
        length += character.length
        i += (if (paired) 12 else 6)
      }
    Arrays.copyOf(text, length)
  }
}
