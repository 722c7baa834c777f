package io.epochal.kit.source

import java.time.Duration

/** How long a poll may take, and how many bytes of records it may receive. The page that passes a bound is received whole. */
final case class PollBounds(time: Duration, bytes: Long)

/** What is left of the bounds of one poll (S13). Threads may share it.
  *
  * @param nanos
  *   a clock
  */
final class PollBudget(bounds: PollBounds, nanos: () => Long = () => System.nanoTime()) {
  private var begun = nanos()
  private var left = bounds.bytes

  /** A poll begins. */
  def begin(): Unit = synchronized {
    begun = nanos()
    left = bounds.bytes
  }

  def spend(bytes: Long): Unit = synchronized(left -= bytes)

  def spent: Boolean = synchronized {
    left <= 0 || Duration.ofNanos(nanos() - begun).compareTo(bounds.time) >= 0
  }
}

/** Of one stream.
  *
  * @param poll
  *   of the poll that Spark waits for
  * @param ahead
  *   of what is received while a batch runs
  */
final class PollBudgets(bounds: PollBounds, nanos: () => Long = () => System.nanoTime()) {
  val poll = new PollBudget(bounds, nanos)
  val ahead = new PollBudget(bounds, nanos)
}

object PollBudgets {

  /** Of a stream whose polls only look for the end. */
  val Unbounded = new PollBudgets(PollBounds(Duration.ofSeconds(Long.MaxValue), Long.MaxValue))
}
