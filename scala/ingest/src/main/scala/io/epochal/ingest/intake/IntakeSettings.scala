package io.epochal.ingest.intake

import java.time.Duration

/** Limits of an intake.
  *
  * @param maxJournalBytes
  *   maximum acknowledged bytes that are not yet delivered
  * @param dedupWindow
  *   how long an idempotency key is remembered
  * @param maxKeys
  *   maximum idempotency keys in memory, about 100 bytes each
  */
final private[epochal] case class IntakeSettings(maxJournalBytes: Long, dedupWindow: Duration, maxKeys: Int = 4 << 20) {

  /** Small enough to remove delivered rows long before the journal is full. */
  def segmentBytes: Long = math.max(64L << 10, math.min(64L << 20, maxJournalBytes / 8))
}
