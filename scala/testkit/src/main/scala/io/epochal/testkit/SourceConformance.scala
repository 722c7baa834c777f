package io.epochal.testkit

/** All checks of a source: its stream, queries over it, and queries whose process is killed. [[SourceChecks]] has those that need
  * no query.
  */
trait SourceConformance extends ConformanceTests {

  def sourceName: String

  /** Creates an empty origin. Each check creates one and closes it. */
  def newFixture(): SourceFixture

  final override protected def conformance: Conformance = Conformance.source(sourceName, () => newFixture())
}
