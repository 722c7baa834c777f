package io.epochal.kit.spark

/** The table of a sink that a run claims. Only then, and while no other run can claim it, it edits Spark's offset log. */
trait ClaimingSink {

  /** Its query has started: see [[SinkEngine.atStart]]. */
  def started(queryId: String): Unit
}
