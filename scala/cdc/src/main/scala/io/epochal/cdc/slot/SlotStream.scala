package io.epochal.cdc.slot

import java.util.concurrent.TimeUnit

import org.postgresql.PGConnection
import org.postgresql.replication.{LogSequenceNumber, PGReplicationStream}

import io.epochal.cdc.change.ChangeStream
import io.epochal.cdc.pgoutput.Bytes
import io.epochal.kit.database.Sql

/** A position in PostgreSQL's log. */
private[cdc] object Lsn {

  /** As the server prints it: `0/16B3748`. */
  def show(lsn: Long): String = LogSequenceNumber.valueOf(lsn).asString

  def read(text: String): Option[Long] =
    Option.when(Pattern.matches(text))(LogSequenceNumber.valueOf(text).asLong)

  private val Pattern = "[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}".r
}

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
    extends ChangeStream {

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
    val typed = if (binary) plain.withSlotOption("binary", true) else plain
    (if (messages) typed.withSlotOption("messages", true) else typed).start()
  }

  private def StatusSeconds = 5

  override def poll(): Bytes = stream.readPending() match {
    case null    => null
    case message => Bytes(message.array, message.arrayOffset + message.position(), message.remaining)
  }

  /** The server has sent every transaction that was committed before this position. */
  def received: Long = stream.getLastReceiveLSN.asLong

  override def confirm(lsn: Long): Unit = {
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
