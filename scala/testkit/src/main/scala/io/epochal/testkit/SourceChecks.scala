package io.epochal.testkit

import org.scalatest.funsuite.AnyFunSuite

/** What every micro-batch source must do, as ScalaTest's tests. Mix it into a suite and give it the source:
  *
  * {{{
  * final class MySourceSuite extends SourceChecks {
  *   override def sourceName = "my-source"
  *   override def newFixture() = new SourceFixture { … }
  * }
  * }}}
  *
  * Offsets are taken to be exclusive, to be JSON with a version field `"v"` or `"version"`, and `latestOffset` to honour read limits.
  * A promise that the fixture does not make is a canceled test.
  */
trait SourceChecks extends AnyFunSuite with Refusals with PromiseTests {

  def sourceName: String

  /** A fresh origin with no rows. */
  def newFixture(): SourceFixture

  register(sourceName, Conformance.streams(() => newFixture(), Some((error, condition) => tells(error, condition))))
}
