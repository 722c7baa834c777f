package io.epochal.testkit

/** All checks of an exactly-once sink under queries. [[SinkChecks]] has those over sequences of epochs, without queries. */
trait SinkConformance extends ConformanceTests {

  def sinkName: String

  /** Creates an empty target. Each check creates one and closes it. */
  def newFixture(): FormatSink

  final override protected def conformance: Conformance = Conformance.sink(sinkName, () => newFixture())
}
