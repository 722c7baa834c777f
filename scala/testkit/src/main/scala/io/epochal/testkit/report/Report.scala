package io.epochal.testkit.report

import java.util
import java.util.concurrent.TimeUnit.NANOSECONDS

import scala.jdk.CollectionConverters._
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

/** Findings of all checks of a connector. `toString` has a line per promise, with evidence below broken ones. */
final class Report(val subject: String, all: Seq[Finding]) {

  def findings: util.List[Finding] = all.asJava

  def kept: util.List[Finding] = all.filter(_.isKept).asJava

  def broken: util.List[Finding] = all.filter(_.isBroken).asJava

  def exempt: util.List[Finding] = all.filter(_.isExempt).asJava

  /** @throws AssertionError
    *   if a promise is broken; the message is the report
    */
  def assertAll(): Unit = if (!broken.isEmpty) {
    val error = new AssertionError(toString)
    all.map(_.outcome).collect { case Outcome.Broken(_, cause) => cause }.foreach(error.addSuppressed)
    throw error
  }

  override def toString: String = {
    val counts = s"${kept.size} kept, ${broken.size} broken, ${exempt.size} exempt"
    all.mkString(s"$subject: $counts\n  ", "\n  ", "").replace("\n         ", "\n           ")
  }
}

/** A promise with the outcome and duration of its check. */
final case class Finding(promise: Promise, outcome: Outcome, millis: Long) {

  def isKept: Boolean = outcome == Outcome.Kept

  def isBroken: Boolean = outcome.isInstanceOf[Outcome.Broken]

  def isExempt: Boolean = outcome.isInstanceOf[Outcome.Exempt]

  /** Evidence of a broken promise, or reason of an exempt one; empty if the promise is kept. */
  def explanation: String = outcome.explanation

  override def toString: String = {
    val why = if (isKept) "" else explanation.linesIterator.mkString("\n         ", "\n         ", "")
    // Omits durations below a tenth of a second.
    val took = if (millis < 100) "" else s" (${millis / 1000}.${millis % 1000 / 100} s)"
    s"${outcome.mark}   $promise$took$why"
  }
}

/** Result of a check. */
sealed abstract class Outcome(private[report] val mark: String, private[report] val explanation: String)

object Outcome {

  case object Kept extends Outcome("kept  ", "")

  /** @param evidence
    *   found and expected values
    */
  final case class Broken(evidence: String, cause: Throwable) extends Outcome("BROKEN", evidence)

  /** Not checked: the fixture exempts the promise, or lacks something that the check needs. */
  final case class Exempt(reason: String) extends Outcome("exempt", reason)
}
