package io.epochal.ingest.intake

import java.io.IOException
import java.net.{InetSocketAddress, SocketAddress, StandardSocketOptions}
import java.nio.channels.ServerSocketChannel
import java.util.concurrent.CompletableFuture

import scala.util.Try
import scala.util.control.NonFatal

import io.epochal.core.error.{Conditions, EpochalException}

/** Receives records from clients on the driver and passes them to an [[Intake]]. Its port is bound from construction to `close`, which
  * returns when all threads of the listener have ended and the port is free. Clients that connect before `serve` wait.
  */
trait Listener extends AutoCloseable {

  /** Begins to receive. Called once. */
  def serve(intake: Intake): Unit

  /** The bound address, with the actual port if the options say 0. */
  def address: InetSocketAddress

  /** The error that ended the listener before `close`. */
  def ended: Option[EpochalException] = None

  /** The listener's entries in the query's progress. Called by any thread. */
  def metrics: Map[String, String]
}

private[ingest] object Listener {

  /** The name of the format, for errors and logs. */
  val Format = "epochal-ingest"

  /** Connections that wait to be accepted. */
  private val Backlog = 128

  /** Binds an address.
    *
    * @throws io.epochal.core.error.EpochalException
    *   PORT_UNAVAILABLE
    */
  def bind(address: InetSocketAddress): ServerSocketChannel = {
    val channel = ServerSocketChannel.open()
    try {
      if (address.isUnresolved) throw new IOException("the host is not known")
      channel.setOption[java.lang.Boolean](StandardSocketOptions.SO_REUSEADDR, true)
      channel.bind(address, Backlog)
    } catch {
      case NonFatal(error) =>
        Try(channel.close()): Unit
        val reason = Option(error.getMessage).getOrElse(error.getClass.getSimpleName)
        val place = s"${address.getHostString}:${address.getPort}"
        throw Conditions.PortUnavailable.because(error)("format" -> Format, "address" -> place, "reason" -> reason)
    }
  }

  /** Closes a resource if the body fails. */
  def closing[A](resource: AutoCloseable)(body: => A): A =
    try body
    catch {
      case e: Throwable =>
        Try(resource.close()): Unit
        throw e
    }

  def addressOf(channel: ServerSocketChannel): InetSocketAddress =
    channel.getLocalAddress.asInstanceOf[InetSocketAddress]

  /** A client's address and port, in the format of the column `remote`. */
  def shown(client: SocketAddress): String = client match {
    case inet: InetSocketAddress if inet.getAddress != null =>
      val host = inet.getAddress.getHostAddress
      if (host.contains(':')) s"[$host]:${inet.getPort}" else s"$host:${inet.getPort}"
    case other => String.valueOf(other)
  }
}

/** Stores arrivals in the journal. Thread-safe.
  *
  * Arrivals are stored in the order of the calls to `accept`. Arrivals of several callers share one sync of the journal, so waiting
  * for a receipt does not reduce throughput.
  */
trait Intake {

  /** Queues an arrival and returns immediately.
    *
    * The future completes on the journal's thread: callbacks must be short or run on another thread. It never completes
    * exceptionally; a failure is a [[Receipt.Failed]]. The caller must not modify the arrival's arrays afterwards.
    */
  def accept(arrival: Arrival): CompletableFuture[Receipt]

  /** The id of this run, unique over all listeners. Acknowledgements name it, so that a client notices another listener on the
    * port.
    */
  def run: String

  /** Whether an arrival would be accepted now. While it is false, a listener that can hold back its clients stops reading. */
  def hasRoom: Boolean

  /** Gauges for Prometheus: name, description, value. */
  def gauges: Seq[(String, String, Long)] = Nil
}

/** Records of one request, or consecutive lines of one connection. Stored atomically.
  *
  * @param stream
  *   as in the column `stream`; empty if the client named none
  * @param remote
  *   address and port of the client, as in the column `remote`
  * @param receivedAt
  *   in microseconds since 1970
  * @param headers
  *   JSON object of strings, or null
  * @param bytes
  *   the records, back to back from index 0
  * @param ends
  *   record i ends before `ends(i)`; at least one record, in ascending order
  * @param key
  *   idempotency key, including its scope
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
