package io.epochal.testkit.report

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
