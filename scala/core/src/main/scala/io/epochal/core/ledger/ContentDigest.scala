package io.epochal.core.ledger

import java.util.HexFormat

/** What an epoch contains, whatever its order and its partitions: the number of rows and the sum of their 64-bit hashes.
  *
  * Sums do not depend on the order, so a replay with other partitions gives the same digest; and unlike an exclusive or,
  * a row that comes twice does not vanish.
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
