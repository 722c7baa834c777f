package io.epochal.ingest.http

import java.util.concurrent.{ConcurrentHashMap, TimeUnit}

import org.eclipse.jetty.io.Connection
import org.eclipse.jetty.io.ssl.SslConnection
import org.eclipse.jetty.util.thread.Scheduler

/** Closes the connections of clients that send too slowly. An idle timeout does not catch them: an occasional byte resets it. Checks
  * every second; holds no thread.
  *
  * Between requests only the idle timeout applies. A request head must be complete within `headTimeoutNanos` of its first byte; the
  * first head of a connection, of the connect.
  */
final private[http] class SlowClients(headTimeoutNanos: Long, scheduler: Scheduler, metrics: HttpMetrics)
    extends Connection.Listener {
  import SlowClients._

  private val connections = new ConcurrentHashMap[Connection, Place]
  private val uploads = ConcurrentHashMap.newKeySet[Upload]
  @volatile private var isStopped = false

  def start(): Unit = schedule()

  /** Stops checking. Connections opened from now on are closed: Jetty would leave them open if it stops meanwhile. */
  def stop(): Unit = isStopped = true

  /** Closes all connections. Call after the server has stopped. */
  def closeAll(): Unit = connections.keySet.forEach(_.getEndPoint.close())

  /** Number of open connections. */
  def open: Int = connections.size

  override def onOpened(connection: Connection): Unit =
    if (isHttp(connection)) {
      connections.put(connection, InHead(System.nanoTime())): Unit
      if (isStopped) connection.getEndPoint.close()
    }

  override def onClosed(connection: Connection): Unit = {
    val _ = connections.remove(connection)
  }

  /** The head of a request is complete. */
  def begins(connection: Connection): Unit = {
    val _ = connections.replace(connection, InRequest)
  }

  def ends(connection: Connection): Unit = {
    val _ = connections.replace(connection, Idle(connection.getBytesIn))
  }

  def watch(upload: Upload): Unit = {
    val _ = uploads.add(upload)
  }

  def forget(upload: Upload): Unit = {
    val _ = uploads.remove(upload)
  }

  private def schedule(): Unit =
    if (!isStopped) scheduler.schedule(() => look(), 1, TimeUnit.SECONDS): Unit

  private def look(): Unit =
    try {
      val now = System.nanoTime()
      uploads.forEach(upload => if (upload.isTooSlow(now)) upload.abort())
      connections.forEach { (connection, place) =>
        place match {
          case InHead(since) if now - since > headTimeoutNanos =>
            metrics.refused("too_slow")
            connection.getEndPoint.close()
          case Idle(bytes) if connection.getBytesIn > bytes =>
            val _ = connections.replace(connection, place, InHead(now))
          case _ => ()
        }
      }
    } finally schedule()

  private def isHttp(connection: Connection): Boolean = !connection.isInstanceOf[SslConnection]
}

private object SlowClients {

  /** State of a connection. Times are `System.nanoTime`. */
  sealed trait Place

  /** Sending the head of a request, since `since`. */
  final case class InHead(since: Long) extends Place

  /** Between two requests; `bytes` is the total received so far. */
  final case class Idle(bytes: Long) extends Place

  case object InRequest extends Place
}
