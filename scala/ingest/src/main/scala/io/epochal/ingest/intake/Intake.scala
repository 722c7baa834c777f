package io.epochal.ingest.intake

import java.util.concurrent.CompletableFuture

import io.epochal.core.error.EpochalException

/** Takes what a listener received into the journal. Any number of threads may call it.
  *
  * The arrivals of one connection are stored in the order in which `accept` was called for them. Arrivals of several callers
  * share one sync of the journal, so a caller that waits for its receipt loses nothing by doing so.
  */
trait Intake {

  /** Puts an arrival in line to be stored, and returns at once.
    *
    * The future completes on the journal's own thread: what depends on it must be short, or go on in another thread. It never
    * completes with an exception; a failure is a [[Receipt.Failed]]. The caller must not change the arrival's arrays afterwards.
    */
  def accept(arrival: Arrival): CompletableFuture[Receipt]

  /** Whether an arrival would be taken now. A listener that can hold its clients back reads no more from them while it is false. */
  def hasRoom: Boolean

  /** Whether what is accepted is stored at once. If not, it waits until the query has asked for its first batch. */
  def isOpen: Boolean = true
}

/** What one request, or one stretch of lines of one connection, brought: it is journalled whole or not at all.
  *
  * @param stream
  *   as in the column `stream`; empty where the client named none
  * @param remote
  *   address and port of the client, as in the column `remote`
  * @param receivedAt
  *   in microseconds since 1970
  * @param headers
  *   JSON text of one object whose values are strings, or null
  * @param bytes
  *   the records, back to back from index 0
  * @param ends
  *   record i ends before `ends(i)`; at least one record, none of negative length
  * @param key
  *   the client's idempotency key, already made specific to whatever its scope is
  */
final case class Arrival(
    stream: String,
    remote: String,
    receivedAt: Long,
    headers: String,
    bytes: Array[Byte],
    ends: Array[Int],
    key: Option[String]) {

  def records: Int = ends.length
}

/** What became of an arrival. */
sealed trait Receipt

object Receipt {

  /** It is in the journal and synced: it may be acknowledged. */
  final case class Stored(records: Int) extends Receipt

  /** Its idempotency key was stored within `dedupWindow`, and synced: it may be acknowledged again. */
  case object Duplicate extends Receipt

  /** The journal has `maxJournalBytes`. Nothing is stored. */
  final case class Full(retryAfterSeconds: Int) extends Receipt

  /** Nothing is acknowledged. Whether it is stored is not known where a sync failed: a retry may store it a second time. */
  final case class Failed(error: EpochalException) extends Receipt
}
