package io.epochal.core.ledger

import java.util.HexFormat

/** The content of an epoch, independent of order and partitions: the number of rows and the sum of their 64-bit hashes.
  *
  * A replay with other partitions gives the same digest. Unlike with an exclusive or, a duplicated row does not cancel out.
  */
final case class ContentDigest(rows: Long, sum: Long) {

  def +(other: ContentDigest): ContentDigest = ContentDigest(rows + other.rows, sum + other.sum)

  /** 16 hexadecimal digits. */
  def hex: String = HexFormat.of.toHexDigits(sum)
}

object ContentDigest {
  val empty: ContentDigest = ContentDigest(0L, 0L)

  def parse(rows: Long, hex: String): ContentDigest = ContentDigest(rows, java.lang.Long.parseUnsignedLong(hex, 16))
}
