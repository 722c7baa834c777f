package io.epochal.core.retry

import java.time.Duration
import java.util.concurrent.ThreadLocalRandom

import dev.failsafe.function.{CheckedPredicate, ContextualSupplier}
import dev.failsafe.{Failsafe, FailsafeException, RetryPolicy}

/** Tries again: capped exponential backoff with full jitter and an overall deadline.
  *
  * The delay after the n-th failure is drawn evenly from 0 to `settings.bound(n)` ("full jitter", from Brooker,
  * "Exponential Backoff And Jitter", 2015), so that clients that failed together do not come back together.
  *
  * @param classify
  *   what a failure means; it decides alone
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
    *   gets the number of failures so far
    * @throws Throwable
    *   what the last try threw
    */
  def run[A](body: Int => A): A = {
    val policy = RetryPolicy
      .builder[A]()
      .handleIf(retried)
      .withMaxAttempts(settings.maxAttempts)
      .withMaxDuration(settings.deadline)
      .withDelayFn(context => delay(context.getAttemptCount, context.getLastException[Throwable]))
      .onRetryScheduled(e => onRetry(RetryEvent(e.getAttemptCount, e.getDelay, e.getLastException)))
      .build()
    val supplier: ContextualSupplier[A, A] = context => body(context.getAttemptCount)
    try Failsafe.`with`[A, RetryPolicy[A]](policy).get(supplier)
    catch { case e: FailsafeException if e.getCause != null => throw e.getCause }
  }

  private val retried: CheckedPredicate[Throwable] = error => classify(error) != Verdict.GiveUp

  private def delay(failures: Int, error: Throwable): Duration = {
    val drawn = Duration.ofNanos((settings.bound(failures).toNanos * jitter()).toLong)
    classify(error) match {
      case Verdict.RetryAfter(atLeast) => atLeast.plus(drawn)
      case _                           => drawn
    }
  }
}

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

  /** The other side said how long to wait. The drawn delay is added to it, so that clients with the same answer do not return
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
