package io.epochal.ingest.http

import java.util.concurrent.{ConcurrentHashMap, TimeUnit}

import org.eclipse.jetty.io.Connection
import org.eclipse.jetty.io.ssl.SslConnection
import org.eclipse.jetty.util.thread.Scheduler

/** Closes the connections of clients that send too slowly. An idle timeout does not notice them: a byte now and then keeps a
  * connection. Checks every second; holds no thread.
  *
  * Between requests a connection may be idle for as long as the idle timeout allows. From the first byte of a request to the end of
  * its head it has `headTimeoutNanos`, as has a new connection for its first head.
  */
final private[http] class SlowClients(headTimeoutNanos: Long, scheduler: Scheduler, metrics: HttpMetrics)
    extends Connection.Listener {
  import SlowClients._

  private val connections = new ConcurrentHashMap[Connection, Place]
  private val uploads = ConcurrentHashMap.newKeySet[Upload]
  @volatile private var isStopped = false

  def start(): Unit = schedule()

  /** Ends the checks. Connections that open from now on are closed: Jetty leaves them open if it stops meanwhile. */
  def stop(): Unit = isStopped = true

  /** Closes all connections, once the server has stopped. */
  def closeAll(): Unit = connections.keySet.forEach(_.getEndPoint.close())

  /** Open connections. */
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

  /** What a connection is doing. Times are those of `System.nanoTime`. */
  sealed trait Place

  /** Sending the head of a request since then. */
  final case class InHead(since: Long) extends Place

  /** Between two requests, after so many received bytes. */
  final case class Idle(bytes: Long) extends Place

  case object InRequest extends Place
}
