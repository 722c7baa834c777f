package io.epochal.cdc.slot

/** A point of the preflight.
  *
  * @param mend
  *   SQL, or a setting, that mends it; None: nothing is wrong
  */
final private[cdc] case class Point(name: String, finding: String, severity: Severity, mend: Option[String])
