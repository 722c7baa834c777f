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
    catch {
      case error: Throwable if retried(error) => again(body, error, Duration.ofNanos(System.nanoTime() - begin))
    }
  }

  /** Continues after the first failure. Most calls have none, and need no policy.
    *
    * @param spent
    *   on the first attempt
    */
  private def again[A](body: Int => A, first: Throwable, spent: Duration): A = {
    val left = settings.deadline.minus(spent)
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
    val drawn = Duration.ofNanos((settings.bound(failures).toNanos * jitter()).toLong)
    classify(error) match {
      case Verdict.RetryAfter(atLeast) => atLeast.plus(drawn)
      case _                           => drawn
    }
  }
}

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

/** Whether and when a failure is retried. */
sealed trait Verdict

object Verdict {

  /** May succeed on retry. */
  case object Retry extends Verdict

  /** The server set a minimum delay. The random delay is added to it, so that clients with the same response do not retry
    * together.
    */
  final case class RetryAfter(atLeast: Duration) extends Verdict

  /** Cannot succeed. */
  case object GiveUp extends Verdict
}

/** A failure that will be retried.
  *
  * @param failures
  *   the number of failures so far, this one included
  */
final case class RetryEvent(failures: Int, delay: Duration, cause: Throwable)
