package io.epochal.testkit.report

/** What a connector promises.
  *
  * @param name
  *   stable: reports and exemptions use it
  * @param claim
  *   one sentence that is true of a connector which keeps the promise
  */
final case class Promise(name: String, claim: String) {
  override def toString: String = s"$name: $claim"
}
