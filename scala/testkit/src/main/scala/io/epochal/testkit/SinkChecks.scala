package io.epochal.testkit

/** The checks of an exactly-once sink that need no query; used like [[SourceChecks]]. */
trait SinkChecks extends PromiseTests with Refusals {

  def sinkName: String

  /** Creates an empty target with a new checkpoint. */
  def newFixture(): SinkFixture

  register(sinkName, EpochChecks.of(() => newFixture(), _ => reports))
}
