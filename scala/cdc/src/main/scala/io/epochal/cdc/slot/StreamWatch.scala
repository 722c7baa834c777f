package io.epochal.cdc.slot

import java.sql.Connection
import java.time.Duration

import scala.util.Try

import org.slf4j.LoggerFactory

import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** Closes the connection of a stream that is dead but open: a load balancer, a sidecar or a firewall may forget a connection
  * without closing it. While the stream is silent for longer than two heartbeats, looks from another connection what the server does
  * for it.
  *
  * The stream is dead if the server has no sender for it, or if it stays silent although the server waits for more log after it has
  * sent more than came, or waits to send. It is not while nobody reads it, such as with a full journal, nor while the server decodes
  * log that has nothing for it.
  */
final private[cdc] class StreamWatch(server: CaptureServer, slot: String, stream: SlotStream, heartbeat: Duration)
    extends AutoCloseable {
  import StreamWatch._

  /** Longer than the interval of heartbeats, which come back through the stream. */
  private val patience: Duration = {
    val (shortest, longest) = (Duration.ofSeconds(1), Duration.ofMinutes(1))
    Seq(Seq(heartbeat.plus(heartbeat), heartbeat.plusSeconds(10), longest).min, shortest).max
  }
  private val thread = new DaemonThreads("epochal-cdc-watch").newThread(() => run())
  thread.start()

  private def run(): Unit =
    try {
      var before = Option.empty[Sender]
      while (true) {
        Thread.sleep(math.max(1L, patience.toMillis / 2))
        before = if (stream.silence < patience.toNanos) None else look(before)
      }
    } catch { case _: InterruptedException => () }

  private def look(before: Option[Sender]): Option[Sender] =
    try {
      val now = server.look(sender(_))
      val reason = now match {
        case None => Some("the server has no sender for it")
        case Some(sender) if !stream.isWithinMessage =>
          if (sender.isIdle && before.exists(_.sent > stream.known)) Some("what the server has sent did not come")
          else Option.when(sender.isWriting && before.exists(_.isWriting))("the server waits to send")
        case _ => Option.when(stream.silence > LongestMessage.toNanos)("a message does not end")
      }
      reason.foreach(end)
      now
    } catch {
      case stop: InterruptedException => throw stop
      // The heartbeat meets the loss of the server, too.
      case error: Throwable =>
        log.debug("The server could not be asked for the sender of a stream", error)
        None
    }

  private def end(reason: String): Unit = {
    log.warn(s"${server.place}: the stream of the slot $slot is dead, but open: $reason. It is read again.")
    release()
    stream.abort()
  }

  /** Ends the sender of a stream that is lost. Otherwise the server keeps the slot for it, until its own timeout. */
  def release(): Unit =
    Try(server.look(sql"SELECT pg_terminate_backend(s.active_pid) FROM pg_replication_slots s $condition".query(_)(_ =>
      ()))): Unit

  private def sender(connection: Connection): Option[Sender] =
    sql"""SELECT (r.sent_lsn - '0/0')::bigint AS sent, lower(a.wait_event) AS event FROM pg_replication_slots s LEFT JOIN pg_stat_replication r ON r.pid = s.active_pid
         |LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid $condition"""
      .query(connection)(rows => Sender(rows.getLong("sent"), Option(rows.getString("event"))))
      .headOption

  private def condition: Sql = sql"WHERE s.slot_name = $slot AND s.active_pid = ${stream.process}"

  /** Does not wait for a running check. */
  override def close(): Unit = thread.interrupt()
}

private object StreamWatch {
  private val log = LoggerFactory.getLogger(classOf[StreamWatch])

  /** The longest time in which a single message comes: after a minute without a reply to its own, the server ends a stream, unless
    * it is set to wait longer.
    */
  private val LongestMessage = Duration.ofMinutes(10)

  /** @param sent
    *   position up to which the server has sent the log; 0: unknown
    * @param event
    *   what it waits for
    */
  final case class Sender(sent: Long, event: Option[String]) {

    /** Whether it has sent all, and waits for more log. */
    def isIdle: Boolean = event.exists(Set("walsendermain", "walsenderwaitforwal"))

    /** Whether it waits until the connection accepts more. */
    def isWriting: Boolean = event.contains("walsenderwritedata")
  }
}
