package io.epochal.ingest.intake

import java.time.Duration

/** What bounds an intake.
  *
  * @param maxJournalBytes
  *   of what was acknowledged and not yet delivered
  * @param dedupWindow
  *   how long an idempotency key is known
  * @param maxKeys
  *   how many are known at the most
  */
final private[epochal] case class IntakeSettings(
    maxJournalBytes: Long,
    dedupWindow: Duration,
    maxKeys: Int = IntakeSettings.MaxKeys) {

  /** Small enough that what was delivered is removed long before the journal is full. */
  def segmentBytes: Long = math.max(64L << 10, math.min(64L << 20, maxJournalBytes / 8))
}

private[epochal] object IntakeSettings {

  /** What may wait for the journal's writer, in bytes: a slow disk does not fill the memory. */
  val MaxWaiting: Long = 64L << 20

  /** Of one group, unless one arrival alone has more. */
  val MaxGroup: Int = 4 << 20

  /** Idempotency keys that memory holds, at about 100 bytes each. */
  val MaxKeys: Int = 4 << 20
}
