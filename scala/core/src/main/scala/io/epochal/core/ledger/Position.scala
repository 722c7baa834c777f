package io.epochal.core.ledger

import java.util.HexFormat
import java.util.concurrent.ThreadLocalRandom

/** How far the rows of a task partition go, counted from where its count began.
  *
  * @param digest
  *   of where the count began, and of all of these rows, in their order
  */
final case class Position(rows: Long, digest: Long) {

  /** 16 hexadecimal digits. */
  def hex: String = HexFormat.of.toHexDigits(digest)
}

object Position {

  /** Where a count begins. Its digest is drawn: no position of one count is one of another, however few rows they have. */
  def newCount(): Position = Position(0L, ThreadLocalRandom.current.nextLong())

  def parse(rows: Long, hex: String): Position = Position(rows, java.lang.Long.parseUnsignedLong(hex, 16))

  /** The digest after one more row. Unlike the sum of [[ContentDigest]] it changes with the rows' order.
    *
    * Each step is a bijection in the digest and in the row's hash (Murmur3's 64-bit finalizer over a linear step): two rows that
    * change places, or one that differs, go unseen with a probability of 1 in 2^64.
    */
  def digest(before: Long, hash: Long): Long = {
    val step = before * Multiplier + hash
    val first = (step ^ (step >>> 33)) * 0xff51afd7ed558ccdL
    val second = (first ^ (first >>> 33)) * 0xc4ceb9fe1a85ec53L
    second ^ (second >>> 33)
  }

  private val Multiplier = 0x9e3779b97f4a7c15L
}

/** Follows the rows of a task partition as they are delivered, and decides which are stored already (K12).
  *
  * @param from
  *   where the epoch begins: the end of the one before
  * @param applied
  *   up to where the partition's rows are stored; never before `from`
  * @param diverged
  *   is called where the rows delivered up to `applied` are not the rows that were stored
  */
final class PartitionCursor(from: Position, applied: Position, diverged: Position => Nothing) {
  private var count = from.rows
  private var rolling = from.digest
  if (count == applied.rows && rolling != applied.digest) diverged(from)

  /** Goes past a row.
    *
    * @param hash
    *   of the row
    * @return
    *   whether it is to be stored
    */
  def advance(hash: Long): Boolean = {
    count += 1
    rolling = Position.digest(rolling, hash)
    if (count == applied.rows && rolling != applied.digest) diverged(position)
    count > applied.rows
  }

  /** After the last row. */
  def position: Position = Position(count, rolling)
}
