package io.epochal.core.retry

import java.time.Duration

/** Limits of retries.
  *
  * @param maxAttempts
  *   attempts in all, the first included
  * @param initialDelay
  *   bound of the first delay; bounds double with every failure
  * @param maxDelay
  *   upper limit of all bounds
  * @param deadline
  *   time for all attempts together
  */
final case class RetrySettings(maxAttempts: Int, initialDelay: Duration, maxDelay: Duration, deadline: Duration) {

  /** The bound of the delay after this many failures, counted from 1. */
  def bound(failures: Int): Duration = {
    val factor = 1L << math.min(failures - 1, 40)
    val nanos = initialDelay.toNanos
    if (nanos > maxDelay.toNanos / factor) maxDelay else Duration.ofNanos(nanos * factor)
  }
}
