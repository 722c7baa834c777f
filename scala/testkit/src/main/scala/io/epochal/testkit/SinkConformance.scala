package io.epochal.testkit

/** Everything that an exactly-once sink must do, as ScalaTest's tests; used like [[SourceConformance]]. [[SinkChecks]] brings the
  * sequences of epochs that need no query.
  */
trait SinkConformance extends ConformanceTests {

  def sinkName: String

  /** A fresh target with no rows; made for each check, and closed after it. */
  def newFixture(): FormatSink

  final override protected def conformance: Conformance = Conformance.sink(sinkName, () => newFixture())
}
