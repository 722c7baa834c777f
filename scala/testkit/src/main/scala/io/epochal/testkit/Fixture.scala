package io.epochal.testkit

import java.util

import io.epochal.core.error.Condition
import io.epochal.testkit.report.Promise

/** The settings common to all fixtures. A fixture describes the connector under test. */
trait Fixture {

  /** The promises that the connector does not make: name to reason. A report shows them as exempt. */
  def exemptions: util.Map[String, String] = util.Map.of()

  /** Whether an error is a refusal with the condition. By default, an error that is not Epochal's counts if it looks deliberate, see
    * [[ExpectedRefusal.reports]]. Suites over [[SourceChecks]] or [[SinkChecks]] use their own method instead.
    */
  def reports(error: Throwable, condition: Condition): Boolean = ExpectedRefusal.reports(error, condition)

  /** Called after each check. */
  @throws[Exception]
  def close(): Unit = ()

  private[testkit] def exemption(promise: Promise): Option[String] = Option(exemptions.get(promise.name))
}
