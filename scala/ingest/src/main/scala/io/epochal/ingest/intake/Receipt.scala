package io.epochal.ingest.intake

import io.epochal.core.error.EpochalException

/** Outcome of an arrival. */
sealed trait Receipt

object Receipt {

  /** Written and synced: may be acknowledged. */
  final case class Stored(records: Int) extends Receipt

  /** Its idempotency key was stored and synced within `dedupWindow`: may be acknowledged again. */
  case object Duplicate extends Receipt

  /** The journal has reached `maxJournalBytes`. Not stored. */
  final case class Full(retryAfterSeconds: Int) extends Receipt

  /** Must not be acknowledged. After a failed sync it may still be stored, so a retry without a key may store it twice. */
  final case class Failed(error: EpochalException) extends Receipt
}
