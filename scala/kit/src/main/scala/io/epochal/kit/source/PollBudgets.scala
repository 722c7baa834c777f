package io.epochal.kit.source

import java.time.Duration

/** The budgets of one stream. */
final class PollBudgets(bounds: PollBounds, nanos: () => Long = () => System.nanoTime()) {

  /** Of the poll that Spark waits for. */
  val poll = new PollBudget(bounds, nanos)

  /** Of the receive while a batch runs. */
  val ahead = new PollBudget(bounds, nanos)
}

object PollBudgets {

  /** For a stream whose polls only look for the end. */
  val Unbounded = new PollBudgets(PollBounds(Duration.ofSeconds(Long.MaxValue), Long.MaxValue))
}
