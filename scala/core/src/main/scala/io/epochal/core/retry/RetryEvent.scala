package io.epochal.core.retry

import java.time.Duration

/** A failure that will be retried.
  *
  * @param failures
  *   the number of failures so far, this one included
  */
final case class RetryEvent(failures: Int, delay: Duration, cause: Throwable)
