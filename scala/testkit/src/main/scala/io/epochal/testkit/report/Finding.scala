package io.epochal.testkit.report

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
