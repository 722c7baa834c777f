package io.epochal.jdbc.postgres

import io.epochal.kit.sink.row.ChunkedBytes
import io.epochal.kit.spark.memory.{Memory, UnsafeLayout}

/** PostgreSQL's inet and cidr:
  *
  * {{{
  *   int8 family (2: IPv4, 3: IPv6), int8 bits of the network, int8 1 for cidr, int8 number of bytes, the address
  * }}}
  *
  * Accepts the full forms `192.0.2.1`, `2001:db8::1`, `::ffff:192.0.2.1`, each with or without `/bits`.
  *
  * @param isNetwork
  *   cidr: all bits to the right of the network must be zero
  */
final private class InetValue(column: Int, isNetwork: Boolean) extends CheckedValue(column) {
  private val bytes = new Array[Byte](16)
  private var text: AnyRef = _
  private var start = 0L

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    text = base
    start = UnsafeLayout.address(base, origin, slot)
    val length = UnsafeLayout.length(base, slot)
    val slash = find('/', 0, length)
    val isV4 = find(':', 0, slash) == slash
    val size = if (isV4) 4 else 16
    if (isV4) v4(0, slash, 0) else v6(slash)
    val bits = if (slash == length) size * 8 else number(slash + 1, length, size * 8)
    if (isNetwork && !isClear(bits, size)) refuse(s"it has bits set to the right of its network of $bits bits")
    CopyValue.begin(out, 4 + size).putByte(if (isV4) 2 else 3)
    out.putByte(bits)
    out.putByte(if (isNetwork) 1 else 0)
    out.putByte(size)
    out.putBytes(bytes, Memory.ARRAY_START, size)
  }

  /** Index of the character's first occurrence, or `end`. */
  private def find(char: Char, from: Int, end: Int): Int = {
    var i = from
    while (i < end && at(i) != char) i += 1
    i
  }

  /** Four decimal numbers, written as bytes from `to` on. */
  private def v4(from: Int, end: Int, to: Int): Unit = {
    var i = from
    var part = 0
    while (part < 4) {
      val stop = find('.', i, end)
      if ((part < 3) != (stop < end)) bad()
      bytes(to + part) = number(i, stop, 255).toByte
      i = stop + 1
      part += 1
    }
  }

  /** Groups of up to four hexadecimal digits; one `::` stands for the missing zeros. */
  private def v6(end: Int): Unit = {
    val leads = end >= 2 && at(0) == ':' && at(1) == ':'
    var i = if (leads) 2 else 0
    var gap = if (leads) 0 else -1
    var count = 0
    while (i < end) {
      val stop = find(':', i, end)
      if (stop == i) {
        if (gap >= 0 || i == 0) bad()
        gap = count
      } else if (find('.', i, stop) < stop) {
        if (count > 12 || stop < end) bad()
        v4(i, stop, count)
        count += 4
      } else {
        if (count > 14 || stop + 1 == end) bad()
        group(i, stop, count)
        count += 2
      }
      i = stop + 1
    }
    if (if (gap < 0) count != 16 else count == 16) bad()
    if (gap >= 0) {
      System.arraycopy(bytes, gap, bytes, 16 - (count - gap), count - gap)
      java.util.Arrays.fill(bytes, gap, 16 - (count - gap), 0.toByte)
    }
  }

  /** One to four hexadecimal digits, written as two bytes. */
  private def group(from: Int, end: Int, to: Int): Unit = {
    if (end - from > 4) bad()
    var value = 0
    var i = from
    while (i < end) {
      val digit = Character.digit(at(i), 16)
      if (digit < 0) bad()
      value = value << 4 | digit
      i += 1
    }
    bytes(to) = (value >> 8).toByte
    bytes(to + 1) = value.toByte
  }

  /** One to three decimal digits without leading zeros. */
  private def number(from: Int, end: Int, max: Int): Int = {
    if (end <= from || end - from > 3 || (end - from > 1 && at(from) == '0')) bad()
    var value = 0
    var i = from
    while (i < end) {
      val digit = at(i) - '0'
      if (digit < 0 || digit > 9) bad()
      value = value * 10 + digit
      i += 1
    }
    if (value > max) bad()
    value
  }

  private def isClear(bits: Int, size: Int): Boolean = {
    var i = bits
    while (i < size * 8 && (bytes(i / 8) & (0x80 >> (i % 8))) == 0) i += 1
    i >= size * 8
  }

  private def at(i: Int): Int = Memory.getByte(text, start + i).toInt

  private def bad(): Nothing = refuse(
    s"it is not ${if (isNetwork) "a network" else "an address"} of IPv4 or IPv6 in its full form")
}
