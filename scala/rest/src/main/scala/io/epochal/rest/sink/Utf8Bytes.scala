package io.epochal.rest.sink

import java.io.Writer
import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Arrays => JavaArrays}

/** UTF-8 text in one reusable array that grows. Unpaired surrogates become question marks. */
final private[rest] class Utf8Bytes extends Writer {
  private var array = new Array[Byte](1024)
  private var used = 0
  private var high: Char = 0

  def length: Int = used

  def truncate(length: Int): Unit = {
    used = length
    high = 0
  }

  def put(bytes: Array[Byte], from: Int, until: Int): Unit = {
    reserve(until.toLong - from)
    System.arraycopy(bytes, from, array, used, until - from)
    used += until - from
  }

  def put(other: Utf8Bytes, from: Int, until: Int): Unit = put(other.array, from, until)

  /** Copies bytes into another array.
    *
    * @return
    *   the position after the copy
    */
  def copyTo(target: Array[Byte], at: Int, from: Int, until: Int): Int = {
    System.arraycopy(array, from, target, at, until - from)
    at + until - from
  }

  def text(from: Int, until: Int): String = new String(array, from, until - from, UTF_8)

  /** Adds bytes to a digest. */
  def digest(into: java.security.MessageDigest, from: Int, until: Int): Unit = into.update(array, from, until - from)

  override def write(chars: Array[Char], offset: Int, count: Int): Unit = {
    reserve(3L * count + 3)
    var i = offset
    while (i < offset + count) {
      val c = chars(i)
      if (Character.isHighSurrogate(c)) {
        if (high != 0) one('?'.toInt)
        high = c
      } else if (Character.isLowSurrogate(c)) {
        if (high == 0) one('?'.toInt) else pair(Character.toCodePoint(high, c))
        high = 0
      } else {
        if (high != 0) one('?'.toInt)
        high = 0
        if (c < 0x80) one(c.toInt)
        else if (c < 0x800) {
          one(0xc0 | c >> 6)
          one(0x80 | c & 0x3f)
        } else {
          one(0xe0 | c >> 12)
          one(0x80 | c >> 6 & 0x3f)
          one(0x80 | c & 0x3f)
        }
      }
      i += 1
    }
  }

  override def flush(): Unit = ()
  override def close(): Unit = ()

  private def pair(point: Int): Unit = {
    one(0xf0 | point >> 18)
    one(0x80 | point >> 12 & 0x3f)
    one(0x80 | point >> 6 & 0x3f)
    one(0x80 | point & 0x3f)
  }

  private def one(byte: Int): Unit = {
    array(used) = byte.toByte
    used += 1
  }

  private def reserve(more: Long): Unit = if (used + more > array.length) {
    val size = math.min(Int.MaxValue - 8L, math.max(array.length * 2L, used + more))
    if (size < used + more) throw new IllegalStateException("a request of more than 2 GB")
    array = JavaArrays.copyOf(array, size.toInt)
  }
}
