package io.epochal.core.retry

import java.time.Duration

/** Whether and when a failure is retried. */
sealed trait Verdict

object Verdict {
  case object Retry extends Verdict

  /** The server set a minimum delay. The random delay is added to it, so that clients with the same response do not retry
    * together.
    */
  final case class RetryAfter(atLeast: Duration) extends Verdict

  /** Cannot succeed. */
  case object GiveUp extends Verdict
}
