package io.epochal.testkit.report

import java.util

import scala.jdk.CollectionConverters._

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

  def isBroken: Boolean = outcome match {
    case _: Outcome.Broken => true
    case _                 => false
  }

  def isExempt: Boolean = !isKept && !isBroken

  /** Evidence of a broken promise, or reason of an exempt one; empty if the promise is kept. */
  def explanation: String = outcome match {
    case Outcome.Kept                => ""
    case Outcome.Broken(evidence, _) => evidence
    case Outcome.Exempt(reason)      => reason
  }

  override def toString: String = {
    val mark = outcome match {
      case Outcome.Kept      => "kept  "
      case _: Outcome.Broken => "BROKEN"
      case _: Outcome.Exempt => "exempt"
    }
    val why = if (isKept) "" else explanation.linesIterator.mkString("\n         ", "\n         ", "")
    // Omits durations below a tenth of a second.
    val took = if (millis < 100) "" else s" (${millis / 1000}.${millis % 1000 / 100} s)"
    s"$mark   $promise$took$why"
  }
}

/** Result of a check. */
sealed trait Outcome

object Outcome {

  case object Kept extends Outcome

  /** @param evidence
    *   found and expected values
    */
  final case class Broken(evidence: String, cause: Throwable) extends Outcome

  /** Not checked: the fixture exempts the promise, or lacks something that the check needs. */
  final case class Exempt(reason: String) extends Outcome
}
