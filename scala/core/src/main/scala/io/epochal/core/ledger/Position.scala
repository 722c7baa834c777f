package io.epochal.core.ledger

import java.util.HexFormat
import java.util.concurrent.ThreadLocalRandom

/** The position in a task partition's rows, counted from the start of its count.
  *
  * @param digest
  *   of the start of the count and all rows since then, in order
  */
final case class Position(rows: Long, digest: Long) {

  /** 16 hexadecimal digits. */
  def hex: String = HexFormat.of.toHexDigits(digest)
}

object Position {

  /** The start of a count. Its digest is random: positions of different counts never match, however few rows they have. */
  def newCount(): Position = Position(0L, ThreadLocalRandom.current.nextLong())

  def parse(rows: Long, hex: String): Position = Position(rows, java.lang.Long.parseUnsignedLong(hex, 16))

  /** The digest after one more row. Unlike the sum of [[ContentDigest]] it depends on the order of rows.
    *
    * Each step is a bijection in the digest and in the row's hash (Murmur3's 64-bit finalizer over a linear step): two swapped
    * rows, or a different row, go undetected with a probability of 1 in 2^64.
    */
  def digest(before: Long, hash: Long): Long = {
    val step = before * Multiplier + hash
    val first = (step ^ (step >>> 33)) * 0xff51afd7ed558ccdL
    val second = (first ^ (first >>> 33)) * 0xc4ceb9fe1a85ec53L
    second ^ (second >>> 33)
  }

  private val Multiplier = 0x9e3779b97f4a7c15L
}
