package io.epochal.ingest.http

import java.util.LinkedHashMap
import java.util.concurrent.{ConcurrentHashMap, TimeUnit}

import scala.jdk.CollectionConverters._

import org.eclipse.jetty.io.Connection
import org.eclipse.jetty.io.ssl.SslConnection
import org.eclipse.jetty.util.thread.Scheduler

/** The open connections. Closes those of clients that send too slowly: an idle timeout does not catch them, because an occasional byte
  * resets it. Checks every second; holds no thread.
  *
  * Between requests only the idle timeout applies. A request head must be complete within `headTimeout` of its first byte; the first
  * head of a connection, of the connect.
  *
  * Clients that have not shown yet that they may write make room for others: their connections, the oldest first, while they have more
  * than half of all places or all places are taken; their bodies, the largest first, while memory is short.
  */
final private[http] class Clients(settings: ListenerSettings, scheduler: Scheduler, metrics: HttpMetrics)
    extends Connection.Listener {
  import Clients._

  private val connections = new ConcurrentHashMap[Connection, Place]
  // Those that have not shown that they may write, the oldest first, and when they were opened.
  private val newcomers = new LinkedHashMap[Connection, Long]
  private val uploads = ConcurrentHashMap.newKeySet[Upload]
  @volatile private var isStopped = false

  def start(): Unit = schedule()

  /** Stops checking. Connections opened from now on are closed: Jetty would leave them open if it stops meanwhile. */
  def stop(): Unit = isStopped = true

  /** Closes all connections. Call after the server has stopped. */
  def closeAll(): Unit = connections.keySet.forEach(_.getEndPoint.close())

  def open: Int = connections.size

  override def onOpened(connection: Connection): Unit =
    if (isHttp(connection)) {
      val now = System.nanoTime()
      connections.put(connection, InHead(now)): Unit
      newcomers.synchronized(newcomers.put(connection, now)): Unit
      if (isStopped) connection.getEndPoint.close()
      makeRoom(now)
    }

  override def onClosed(connection: Connection): Unit = {
    connections.remove(connection): Unit
    proves(connection)
  }

  /** The client has shown that it may write. */
  def proves(connection: Connection): Unit = newcomers.synchronized(newcomers.remove(connection)): Unit

  /** The head of a request is complete. */
  def begins(connection: Connection): Unit = connections.replace(connection, InRequest): Unit

  def ends(connection: Connection): Unit = connections.replace(connection, Idle(connection.getBytesIn)): Unit

  def watch(upload: Upload): Unit = uploads.add(upload): Unit

  def forget(upload: Upload): Unit = uploads.remove(upload): Unit

  /** Ends the largest upload of a client that has not shown yet that it may write, and has had the time, or has sent more than `size`
    * bytes.
    *
    * @return
    *   whether there was one
    */
  def dropUpload(size: Long): Boolean = {
    val now = System.nanoTime()
    val all = uploads.asScala.filter(one => one.unprovenSince.exists(now - _ > GraceNanos || one.bufferedBytes > size))
    all.maxByOption(_.bufferedBytes).map(_.abort()).nonEmpty
  }

  private def makeRoom(now: Long): Unit = {
    val crowd = newcomers.synchronized {
      val excess = newcomers.size - math.max(1, settings.maxConnections / 2)
      val least = if (connections.size >= settings.maxConnections) 1 else 0
      val old =
        newcomers.asScala.iterator.takeWhile(now - _._2 > GraceNanos).map(_._1).take(math.max(least, excess)).toVector
      old.foreach(one => newcomers.remove(one): Unit)
      old
    }
    crowd.foreach(drop)
  }

  private def drop(connection: Connection): Unit = {
    metrics.countRefusal("too_slow")
    connection.getEndPoint.close()
  }

  private def schedule(): Unit =
    if (!isStopped) scheduler.schedule(() => look(), 1, TimeUnit.SECONDS): Unit

  private def look(): Unit =
    try {
      val now = System.nanoTime()
      uploads.forEach(upload => if (upload.isTooSlow(now)) upload.abort())
      connections.forEach { (connection, place) =>
        place match {
          case InHead(since) if now - since > settings.headTimeout.toNanos => drop(connection)
          case Idle(bytes) if connection.getBytesIn > bytes => connections.replace(connection, place, InHead(now)): Unit
          case _                                            => ()
        }
      }
      makeRoom(now)
      metrics.logRefused(now)
    } finally schedule()

  private def isHttp(connection: Connection): Boolean = !connection.isInstanceOf[SslConnection]
}

private object Clients {

  /** How long a client that has not shown yet that it may write keeps its place, however crowded it is. */
  private val GraceNanos = 2000000000L

  /** State of a connection. Times are `System.nanoTime`. */
  sealed trait Place

  final case class InHead(since: Long) extends Place

  /** Between two requests; `bytes` is the total received so far. */
  final case class Idle(bytes: Long) extends Place

  case object InRequest extends Place
}
