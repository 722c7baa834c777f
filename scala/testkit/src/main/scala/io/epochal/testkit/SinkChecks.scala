package io.epochal.testkit

import org.scalatest.funsuite.AnyFunSuite

/** What every exactly-once streaming sink must do, as ScalaTest's tests. Mix it into a suite and give it the sink, as with
  * [[SourceChecks]].
  */
trait SinkChecks extends AnyFunSuite with Refusals with PromiseTests {

  def sinkName: String

  /** A fresh target with no rows, and a fresh checkpoint. */
  def newFixture(): SinkFixture

  register(sinkName, Conformance.epochs(() => newFixture(), Some((error, condition) => tells(error, condition))))
}
