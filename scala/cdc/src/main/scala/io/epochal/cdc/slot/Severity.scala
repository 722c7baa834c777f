package io.epochal.cdc.slot

/** Whether a point keeps capture from working. */
sealed private[cdc] trait Severity

private[cdc] object Severity {
  case object Fine extends Severity

  /** Capture works, but may not for long. */
  case object Warning extends Severity
  case object Missing extends Severity
}
