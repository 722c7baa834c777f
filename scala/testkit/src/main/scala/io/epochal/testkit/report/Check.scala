package io.epochal.testkit.report

import java.util.concurrent.TimeUnit.NANOSECONDS

import scala.util.control.NonFatal

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
