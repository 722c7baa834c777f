package io.epochal.spark.json

import java.util.Arrays

/** Strings that are written with escapes. */
private[spark] object PlainText {

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
        length = put(text, length, point)
        i += (if (paired) 12 else 6)
      }
    Arrays.copyOf(text, length)
  }

  /** @return
    *   where the next character belongs
    */
  private def put(text: Array[Byte], at: Int, point: Int): Int =
    if (point < 0x80) {
      text(at) = point.toByte
      at + 1
    } else {
      val more = if (point < 0x800) 1 else if (point < 0x10000) 2 else 3
      text(at) = (0xff00 >> (more + 1) | point >> (6 * more)).toByte
      var i = 1
      while (i <= more) {
        text(at + i) = (0x80 | (point >> (6 * (more - i))) & 0x3f).toByte
        i += 1
      }
      at + more + 1
    }
}
