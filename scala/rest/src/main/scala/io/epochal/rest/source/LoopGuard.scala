package io.epochal.rest.source

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import scala.collection.immutable.Queue

/** Detects pages that lead back to an earlier one, in bounded memory: it remembers the last [[LoopGuard.Remembered]]
  * pages, and detects any longer loop within its second or third round (R. P. Brent, "An improved Monte Carlo
  * factorization algorithm", 1980). Immutable.
  *
  * @param steps
  *   number of pages visited
  * @param mark
  *   hash of one of them
  */
final private[rest] case class LoopGuard(
    steps: Int = 0,
    mark: Long = 0,
    recent: Queue[Long] = Queue.empty,
    hashes: Set[Long] = Set.empty) {

  /** @param page
    *   identifies the page
    * @return
    *   None if it was visited before
    */
  def visit(page: String): Option[LoopGuard] = {
    val hash = ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(page.getBytes(UTF_8))).getLong()
    Option.when(!hashes(hash) && (steps == 0 || hash != mark)) {
      val isFull = hashes.size >= LoopGuard.Remembered
      LoopGuard(
        steps + 1,
        if (Integer.bitCount(steps + 1) == 1) hash else mark,
        (if (isFull) recent.tail else recent) :+ hash,
        (if (isFull) hashes - recent.head else hashes) + hash)
    }
  }
}

private[rest] object LoopGuard {
  val Remembered = 10000
}
