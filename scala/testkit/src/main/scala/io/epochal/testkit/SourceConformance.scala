package io.epochal.testkit

/** Everything that a source must do, as ScalaTest's tests: its stream, queries over it, and queries whose process is killed.
  *
  * A promise that the fixture does not make is a canceled test. [[SourceChecks]] is the part without queries.
  */
trait SourceConformance extends ConformanceTests {

  def sourceName: String

  /** A fresh origin with no rows; made for each check, and closed after it. */
  def newFixture(): SourceFixture

  final override protected def conformance: Conformance = Conformance.source(sourceName, () => newFixture())
}
