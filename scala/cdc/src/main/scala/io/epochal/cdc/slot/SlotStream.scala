package io.epochal.cdc.slot

import java.util.concurrent.TimeUnit

import org.postgresql.PGConnection
import org.postgresql.replication.{LogSequenceNumber, PGReplicationStream}

import io.epochal.cdc.pgoutput.Bytes
import io.epochal.kit.database.Sql

/** The changes of a slot, over a connection of its own that `close` closes too.
  *
  * @param from
  *   the server sends no transaction whose commit record begins before
  */
final private[cdc] class SlotStream(
    connection: java.sql.Connection,
    slot: String,
    publication: String,
    from: Long,
    binary: Boolean,
    messages: Boolean)
    extends AutoCloseable {

  /** The process of the server: a proxy reports another one. */
  val process: Int = Sql.query(connection, "SELECT pg_catalog.pg_backend_pid()")(_.getInt(1)).head

  private val stream: PGReplicationStream = {
    val plain = connection
      .unwrap(classOf[PGConnection])
      .getReplicationAPI
      .replicationStream()
      .logical()
      .withSlotName(slot)
      .withStartPosition(LogSequenceNumber.valueOf(from))
      // Else the driver confirms what it has received.
      .withAutomaticFlush(false)
      .withStatusInterval(StatusSeconds, TimeUnit.SECONDS)
      .withSlotOption("proto_version", 1)
      // The driver puts values in quotes as they are.
      .withSlotOption("publication_names", Sql.quoted(publication).replace("'", "''"))
    val typedStream = if (binary) plain.withSlotOption("binary", true) else plain
    (if (messages) typedStream.withSlotOption("messages", true) else typedStream).start()
  }

  private def StatusSeconds = 5

  /** When the last poll began, and when a message last arrived or nobody polled. */
  @volatile private var polledAt, heardAt = System.nanoTime()
  @volatile private var isPolling = false
  @volatile private var confirmedLsn = from
  private var heardLsn = received

  /** The next message, valid until the next call; null if none has arrived. */
  def poll(): Bytes = {
    val now = System.nanoTime()
    if (now - polledAt > SlotStream.ReadNanos) heardAt = now
    polledAt = now
    isPolling = true
    val message = stream.readPending()
    isPolling = false
    if (message != null || heardLsn != received) {
      heardLsn = received
      heardAt = now
    }
    if (message == null) null
    else Bytes(message.array, message.arrayOffset + message.position(), message.remaining)
  }

  /** Nanoseconds since a reader last received anything; 0 if nobody reads. Called by any thread. */
  def silence: Long = {
    val now = System.nanoTime()
    if (!isPolling && now - polledAt > SlotStream.ReadNanos) 0L else now - heardAt
  }

  /** Whether a message has begun, and its end is waited for. Called by any thread. */
  def isWithinMessage: Boolean = isPolling && System.nanoTime() - polledAt > SlotStream.ReadNanos

  /** Closes the connection at once; a poll then fails. Called by any thread. */
  def abort(): Unit = connection.abort(_.run())

  /** The server has sent every transaction that was committed before this position. */
  def received: Long = stream.getLastReceiveLSN.asLong

  /** The position up to which everything was received: the server does not repeat one that was confirmed to it. */
  def known: Long = if (java.lang.Long.compareUnsigned(confirmedLsn, received) > 0) confirmedLsn else received

  /** Reports that the server need not keep what comes before a position. */
  def confirm(lsn: Long): Unit = {
    confirmedLsn = lsn
    val position = LogSequenceNumber.valueOf(lsn)
    stream.setFlushedLSN(position)
    stream.setAppliedLSN(position)
  }

  /** Sends the confirmed position at once. */
  def report(): Unit = stream.forceUpdateStatus()

  /** Within a large transaction the server may answer late. */
  override def close(): Unit =
    try Interruption.limit(connection)(stream.close())
    finally connection.close()
}

private object SlotStream {

  /** A reader polls more often. */
  private val ReadNanos = 1000000000L
}
