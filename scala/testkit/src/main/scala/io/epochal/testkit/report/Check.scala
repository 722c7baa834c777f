package io.epochal.testkit.report

import java.util.concurrent.TimeUnit.NANOSECONDS

import scala.util.control.NonFatal

/** A promise of a connector.
  *
  * @param name
  *   stable identifier, for reports and exemptions
  * @param claim
  *   statement that holds for a connector that keeps the promise
  */
final case class Promise(name: String, claim: String) {
  override def toString: String = s"$name: $claim"
}

/** The check of one promise. */
final class Check(val promise: Promise, body: () => Unit) {

  /** Runs the check. Any exception counts as evidence against the promise; fatal errors are rethrown. */
  def run(): Finding = {
    val begin = System.nanoTime()
    val outcome =
      try {
        body()
        Outcome.Kept
      } catch {
        case e: Evidence       => Outcome.Broken(e.getMessage, e)
        case e: NotChecked     => Outcome.Exempt(e.getMessage)
        case e: AssertionError => Outcome.Broken(s"$e", e)
        case NonFatal(e)       => Outcome.Broken(s"the connector failed: ${Evidence.text(e)}", e)
      }
    Finding(promise, outcome, NANOSECONDS.toMillis(System.nanoTime() - begin))
  }
}

/** Thrown if a promise is exempt or cannot be checked in this environment. */
final class NotChecked(reason: String) extends RuntimeException(reason)
