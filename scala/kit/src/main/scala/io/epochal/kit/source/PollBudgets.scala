package io.epochal.kit.source

import java.time.Duration

/** The budgets of one stream.
  *
  * @param poll
  *   of the poll that Spark waits for
  * @param ahead
  *   of the receive while a batch runs
  */
final class PollBudgets(bounds: PollBounds, nanos: () => Long = () => System.nanoTime()) {
  val poll = new PollBudget(bounds, nanos)
  val ahead = new PollBudget(bounds, nanos)
}

object PollBudgets {

  /** For a stream whose polls only look for the end. */
  val Unbounded = new PollBudgets(PollBounds(Duration.ofSeconds(Long.MaxValue), Long.MaxValue))
}
