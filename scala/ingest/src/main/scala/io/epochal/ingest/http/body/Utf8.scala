package io.epochal.ingest.http.body

import io.epochal.kit.spark.memory.Memory

/** Bytes that should be UTF-8 (RFC 3629). */
private[body] object Utf8 {

  /** Where the text begins: behind a byte order mark. */
  def beginOf(bytes: Array[Byte], length: Int): Int =
    if (length >= 3 && bytes(0) == 0xef.toByte && bytes(1) == 0xbb.toByte && bytes(2) == 0xbf.toByte) 3 else 0

  /** The first byte of what is no character; -1: all are characters. */
  def firstInvalid(bytes: Array[Byte], from: Int, until: Int): Int = {
    var at = ascii(bytes, from, until)
    var wrong = -1
    while (wrong < 0 && at < until) {
      val count = character(bytes, at, until)
      if (count == 0) wrong = at
      else at = ascii(bytes, at + count, until)
    }
    wrong
  }

  /** The first byte from here on that is not ASCII, or `until`. */
  private def ascii(bytes: Array[Byte], from: Int, until: Int): Int = {
    var at = from
    while (at + 8 <= until && (Memory.getLong(bytes, Memory.ARRAY_START + at.toLong) & Highs) == 0) at += 8
    while (at < until && bytes(at) >= 0) at += 1
    at
  }

  /** Bytes of the character here, which is not ASCII; 0: it is none. */
  private def character(bytes: Array[Byte], at: Int, until: Int): Int = {
    val lead = bytes(at) & 0xff
    val second = if (at + 1 < until) bytes(at + 1) & 0xff else 0
    def follows(n: Int): Boolean = at + n < until && (bytes(at + n) & 0xc0) == 0x80
    if (lead < 0xc2 || lead > 0xf4 || !follows(1)) 0
    else if (lead < 0xe0) 2
    else if (lead < 0xf0)
      if (follows(2) && (lead != 0xe0 || second >= 0xa0) && (lead != 0xed || second < 0xa0)) 3 else 0
    else if (follows(2) && follows(3) && (lead != 0xf0 || second >= 0x90) && (lead != 0xf4 || second < 0x90)) 4
    else 0
  }

  final private val Highs = 0x8080808080808080L
}
