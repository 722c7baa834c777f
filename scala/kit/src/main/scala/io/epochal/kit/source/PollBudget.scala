package io.epochal.kit.source

import java.time.Duration

/** The remaining limits of one poll. Threads may share it.
  *
  * @param nanos
  *   a clock
  */
final class PollBudget(bounds: PollBounds, nanos: () => Long = () => System.nanoTime()) {
  private var beginNanos = nanos()
  private var left = bounds.bytes

  def begin(): Unit = synchronized {
    beginNanos = nanos()
    left = bounds.bytes
  }

  def spend(bytes: Long): Unit = synchronized(left -= bytes)

  def spent: Boolean = synchronized {
    left <= 0 || Duration.ofNanos(nanos() - beginNanos).compareTo(bounds.time) >= 0
  }
}
