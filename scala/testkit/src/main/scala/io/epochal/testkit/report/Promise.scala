package io.epochal.testkit.report

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
