package io.epochal.ingest.http

import java.util.concurrent.{ConcurrentHashMap, TimeUnit}

import org.eclipse.jetty.io.Connection
import org.eclipse.jetty.io.ssl.SslConnection
import org.eclipse.jetty.util.thread.Scheduler

/** Closes the connections of clients that send too slowly, which an idle timeout does not see: a byte now and then is enough
  * to keep a connection. Looks each second; holds no thread.
  *
  * Between requests a connection may be idle, for as long as the idle timeout allows; from the first byte of a request to the
  * end of its head it has `headTimeoutNanos`. A new connection has as long for its first request.
  */
final private[http] class SlowClients(headTimeoutNanos: Long, scheduler: Scheduler, counters: HttpCounters)
    extends Connection.Listener {
  import SlowClients._

  private val connections = new ConcurrentHashMap[Connection, Place]
  private val uploads = ConcurrentHashMap.newKeySet[Upload]
  @volatile private var isStopped = false

  def start(): Unit = schedule()

  /** Looks no more. A connection that opens from now on is closed: Jetty leaves it open when it stops meanwhile. */
  def stop(): Unit = isStopped = true

  /** Closes what is open, once the server has stopped. */
  def closeAll(): Unit = connections.keySet.forEach(_.getEndPoint.close())

  /** How many are open. */
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
            counters.refused("too_slow")
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

  /** Where a connection is. Times are those of `System.nanoTime`. */
  sealed trait Place

  /** The head of a request is awaited since then, of which something has come, or of the first request. */
  final case class InHead(since: Long) extends Place

  /** Between two requests.
    *
    * @param bytes
    *   received before
    */
  final case class Idle(bytes: Long) extends Place

  case object InRequest extends Place
}
