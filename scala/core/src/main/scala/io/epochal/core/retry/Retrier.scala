package io.epochal.core.retry

import java.time.Duration
import java.util.concurrent.ThreadLocalRandom

import dev.failsafe.function.ContextualSupplier
import dev.failsafe.{Failsafe, FailsafeException, RetryPolicy}

/** Retries with capped exponential backoff, full jitter and an overall deadline.
  *
  * The delay after the n-th failure is drawn uniformly from 0 to `settings.bound(n)` ("full jitter", Brooker, "Exponential
  * Backoff And Jitter", 2015), so that clients that failed together do not retry together.
  *
  * @param classify
  *   decides whether a failure is retried
  * @param onRetry
  *   called once for each failure that is retried
  * @param jitter
  *   a number in [0, 1)
  */
final class Retrier(
    settings: RetrySettings,
    classify: Throwable => Verdict,
    onRetry: RetryEvent => Unit = _ => (),
    jitter: () => Double = () => ThreadLocalRandom.current().nextDouble()
) {

  /** Runs `body` until it succeeds.
    *
    * @param body
    *   takes the number of failures so far
    * @throws Throwable
    *   from the last attempt
    */
  def run[A](body: Int => A): A = {
    val begin = System.nanoTime()
    try body(0)
    catch { case error: Throwable if retried(error) => again(body, error, Duration.ofNanos(System.nanoTime() - begin)) }
  }

  /** Continues after the first failure. Most calls have none, and need no policy.
    *
    * @param timeSpent
    *   on the first attempt
    */
  private def again[A](body: Int => A, first: Throwable, timeSpent: Duration): A = {
    val left = settings.deadline.minus(timeSpent)
    if (left.isNegative || left.isZero) throw first
    val policy = RetryPolicy
      .builder[A]()
      .handleIf(error => retried(error))
      .withMaxAttempts(settings.maxAttempts)
      .withMaxDuration(left)
      .withDelayFn(context => delay(context.getAttemptCount, context.getLastException[Throwable]))
      .onRetryScheduled(e => onRetry(RetryEvent(e.getAttemptCount, e.getDelay, e.getLastException)))
      .build()
    val supplier: ContextualSupplier[A, A] = context => {
      val failures = context.getAttemptCount
      if (failures == 0) throw first else body(failures)
    }
    try Failsafe.`with`[A, RetryPolicy[A]](policy).get(supplier)
    catch { case e: FailsafeException if e.getCause != null => throw e.getCause }
  }

  private def retried(error: Throwable): Boolean = classify(error) != Verdict.GiveUp

  private def delay(failures: Int, error: Throwable): Duration = {
    val randomDelay = Duration.ofNanos((settings.bound(failures).toNanos * jitter()).toLong)
    classify(error) match {
      case Verdict.RetryAfter(atLeast) => atLeast.plus(randomDelay)
      case _                           => randomDelay
    }
  }
}
