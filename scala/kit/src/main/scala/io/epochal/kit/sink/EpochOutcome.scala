package io.epochal.kit.sink

/** The result of an epoch's commit. */
sealed trait EpochOutcome

object EpochOutcome {

  /** Its rows and its ledger row were committed now. */
  final case class Applied(loadNanos: Long, commitNanos: Long) extends EpochOutcome

  /** They were committed before. */
  final case class Repeated(contentDiffers: Boolean) extends EpochOutcome
}
