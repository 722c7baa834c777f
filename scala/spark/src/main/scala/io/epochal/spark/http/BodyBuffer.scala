package io.epochal.spark.http

import java.io.InputStream

/** The bytes of one answer. Used again for the next one: it grows to the largest answer and stays there. */
final private[spark] class BodyBuffer {
  private var array = new Array[Byte](BodyBuffer.FirstSize)
  private var used = 0
  private var none = false

  def bytes: Array[Byte] = array
  def length: Int = used

  /** Whether there was no answer to speak of: a status that is ignored, or 204. */
  def absent: Boolean = none

  /** @return
    *   true: nothing is all there was
    */
  def clear(): Boolean = {
    used = 0
    none = false
    true
  }

  def markAbsent(): Unit = {
    used = 0
    none = true
  }

  /** Makes the buffer hold so many bytes, which are for the caller to fill in.
    *
    * @return
    *   an array of at least that length
    */
  def reserve(length: Int): Array[Byte] = {
    if (array.length < length) array = new Array[Byte](length)
    used = length
    none = false
    array
  }

  /** Reads to the end of `in`.
    *
    * @param limit
    *   up to `MaxBytes`
    * @return
    *   false when there are more than `limit` bytes; `in` was then read no further than one byte past them
    */
  def readFrom(in: InputStream, limit: Long): Boolean = {
    used = 0
    none = false
    var count = 0
    while (count >= 0 && used <= limit) {
      if (used == array.length) grow(limit)
      count = in.read(array, used, math.min(array.length.toLong, limit + 1).toInt - used)
      if (count > 0) used += count
    }
    used <= limit
  }

  /** The beginning, for a message. */
  def head(characters: Int): String =
    new String(array, 0, math.min(used, characters * 4), java.nio.charset.StandardCharsets.UTF_8).take(characters)

  private def grow(limit: Long): Unit =
    array = java.util.Arrays.copyOf(array, math.min(array.length * 2L, limit + 1).toInt)
}

private[spark] object BodyBuffer {
  private val FirstSize = 64 << 10

  /** The largest array that every JVM can make, less the byte that shows that there is more. */
  val MaxBytes: Long = Int.MaxValue - 9L
}
