package io.epochal.rest.source.page

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

/** Notices that pages lead back to one that was read before, in little memory: the last [[LoopGuard.Remembered]] pages are
  * known, and any longer loop is found within its second round or third (R. P. Brent, "An improved Monte Carlo factorization
  * algorithm", 1980).
  */
final private[rest] class LoopGuard {
  private val recent = new java.util.LinkedHashSet[Long]
  private var mark = 0L
  private var steps = 0L
  private var power = 1L

  /** @param page
    *   what tells a page from all others
    * @return
    *   true where it is one that was visited before
    */
  def visit(page: String): Boolean = {
    val hash = ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(page.getBytes(UTF_8))).getLong()
    val again = !recent.add(hash) || (steps > 0 && hash == mark)
    if (recent.size > LoopGuard.Remembered) {
      val eldest = recent.iterator()
      eldest.next()
      eldest.remove()
    }
    steps += 1
    if (steps == power) {
      mark = hash
      power *= 2
    }
    again
  }
}

private[rest] object LoopGuard {
  val Remembered = 10000
}
