package io.epochal.ingest.intake

import java.net.{InetSocketAddress, SocketAddress}
import java.util.concurrent.CompletableFuture

import io.epochal.core.error.EpochalException

/** Receives records from clients on the driver and hands them to an [[Intake]]. It listens from its construction to `close`, which
  * returns when no thread of the listener is left and the port is free.
  */
trait Listener extends AutoCloseable {

  /** The address that was bound: with port 0 in the options, the port that was chosen. */
  def address: InetSocketAddress

  /** Why it no longer receives, although nobody closed it. */
  def ended: Option[EpochalException] = None

  /** The listener's own entries in every progress. Called by any thread. */
  def metrics: Map[String, String]
}

private[ingest] object Listener {

  /** A client's address and port, as in the column `remote`. */
  def shown(client: SocketAddress): String = client match {
    case inet: InetSocketAddress if inet.getAddress != null =>
      val host = inet.getAddress.getHostAddress
      if (host.contains(':')) s"[$host]:${inet.getPort}" else s"$host:${inet.getPort}"
    case other => String.valueOf(other)
  }
}

/** Takes what a listener received into the journal. Thread-safe.
  *
  * The arrivals of one connection are stored in the order in which `accept` was called for them. Arrivals of several callers
  * share one sync of the journal, so a caller that waits for its receipt loses nothing by doing so.
  */
trait Intake {

  /** Queues an arrival to be stored, and returns at once.
    *
    * The future completes on the journal's own thread: callbacks must be short, or continue in another thread. It never completes
    * with an exception; a failure is a [[Receipt.Failed]]. The caller must not change the arrival's arrays afterwards.
    */
  def accept(arrival: Arrival): CompletableFuture[Receipt]

  /** Whether an arrival would be taken now. While it is false, a listener that can hold its clients back reads nothing more. */
  def hasRoom: Boolean

  /** Whether arrivals are stored at once; if not, they wait until the query has asked for its first batch. */
  def isOpen: Boolean = true
}

/** The records of one request, or of consecutive lines of one connection: journalled whole or not at all.
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
  *   the client's idempotency key, with its scope
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
