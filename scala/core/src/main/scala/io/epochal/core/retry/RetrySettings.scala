package io.epochal.core.retry

import java.time.Duration

/** How long to go on after failures.
  *
  * @param maxAttempts
  *   tries in all, the first one included
  * @param initialDelay
  *   bound of the first delay; bounds double with every failure
  * @param maxDelay
  *   bound of any delay that is drawn
  * @param deadline
  *   time for everything together
  */
final case class RetrySettings(maxAttempts: Int, initialDelay: Duration, maxDelay: Duration, deadline: Duration) {

  /** The bound of the delay after this many failures (1 is the first). */
  def bound(failures: Int): Duration = {
    val factor = 1L << math.min(failures - 1, 40)
    val nanos = initialDelay.toNanos
    if (nanos > maxDelay.toNanos / factor) maxDelay else Duration.ofNanos(nanos * factor)
  }
}

/** What a failure means for the next try. */
sealed trait Verdict

object Verdict {

  /** It can succeed if tried again. */
  case object Retry extends Verdict

  /** The other side said how long to wait. The drawn delay is added to it: those that were told the same do not come back
    * together.
    */
  final case class RetryAfter(atLeast: Duration) extends Verdict

  /** It cannot succeed. */
  case object GiveUp extends Verdict
}

/** A failure that will be tried again.
  *
  * @param failures
  *   how many there have been, this one included
  */
final case class RetryEvent(failures: Int, delay: Duration, cause: Throwable)
