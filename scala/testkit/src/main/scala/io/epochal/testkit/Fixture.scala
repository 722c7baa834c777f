package io.epochal.testkit

import java.util

import io.epochal.core.error.Condition
import io.epochal.testkit.report.Promise

/** What every fixture says of the connector under test. */
trait Fixture {

  /** The promises that the connector does not make: the name of each, and why. A report shows them as exempt. */
  def exemptions: util.Map[String, String] = util.Map.of()

  /** Whether an error is the refusal that a condition names. An error that is not Epochal's may be any that was made on purpose. A
    * suite over [[SourceChecks]] or [[SinkChecks]] decides it itself.
    */
  def tells(error: Throwable, condition: Condition): Boolean = Refusal.tells(error, condition)

  /** Called after each check. */
  @throws[Exception]
  def close(): Unit = ()

  /** Why a promise is exempt, if it is. */
  private[testkit] def exemption(promise: Promise): Option[String] = Option(exemptions.get(promise.name))
}
