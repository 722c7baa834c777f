package io.epochal.ingest.http

import java.net.InetSocketAddress
import java.nio.channels.ClosedSelectorException
import java.time.temporal.ChronoUnit
import java.time.{Clock, Instant}
import java.util.LinkedHashMap
import java.util.concurrent.{ConcurrentHashMap, Executor, TimeUnit}
import javax.net.ssl.SSLContext

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import org.eclipse.jetty.io.ssl.SslConnection
import org.eclipse.jetty.io.{ByteBufferPool, Connection, ManagedSelector}
import org.eclipse.jetty.server._
import org.eclipse.jetty.util.ssl.SslContextFactory
import org.eclipse.jetty.util.thread.{QueuedThreadPool, Scheduler}
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.ingest.http.auth.Admission
import io.epochal.ingest.http.body.BodyBudget
import io.epochal.ingest.intake.{Intake, Listener}

/** HTTP/1.1 listener: `POST /` and `POST /{stream}` for records, `GET /health` and `GET /metrics`.
  *
  * Status 200 means that the intake has stored the request. After any other status, or no response, it may or may not be stored:
  * retry with the same `Idempotency-Key`. At `close`, requests in flight get no response or 503.
  *
  * @param bind
  *   port 0: any free port
  * @throws io.epochal.core.error.EpochalException
  *   LISTENER_EXPOSED, PORT_UNAVAILABLE
  */
final private[ingest] class HttpListener(settings: HttpSettings, bind: InetSocketAddress, clock: Clock)
    extends Listener {
  private val log = LoggerFactory.getLogger(classOf[HttpListener])

  private val isLoopback = !bind.isUnresolved && bind.getAddress.isLoopbackAddress
  if (!bind.isUnresolved && !isLoopback && !settings.isProtected)
    throw Conditions.ListenerExposed(
      "format" -> Listener.Format,
      "address" -> bind.getHostString,
      "protection" -> IngestHttpOptions.Protection)

  private val admission: Admission = settings.admission.fold(new Admission {})(_.open(clock))
  private val counts = new HttpMetrics(found =>
    log.warn(s"${Listener.Format} on ${Listener.shown(address)} refused requests since the last such line: $found"))
  private val channel = Listener.bind(bind)
  private val threads = makeThreads()
  private val server = new Server(threads)
  private val connector = makeConnector()
  private val clients = new Clients(settings, connector.getScheduler, counts)
  @volatile private var failure = Option.empty[EpochalException]

  override val address: InetSocketAddress =
    new InetSocketAddress(bind.getAddress, Listener.addressOf(channel).getPort)

  override def metrics: Map[String, String] = counts.progress(clients.open)

  /** An error of the JVM in a thread of Jetty, which continues without it, or has lost its selector. */
  override def ended: Option[EpochalException] = {
    if (server.isStarted && failure.isEmpty && !selectors.forall(one =>
        one.getSelector != null && one.getSelector.isOpen))
      end(new ClosedSelectorException)
    failure
  }

  private[http] def selectors: Seq[ManagedSelector] =
    connector.getSelectorManager.getBeans(classOf[ManagedSelector]).asScala.toSeq

  private def end(error: Throwable): Unit =
    failure = Some(Conditions.FeedFailed.because(error)("source" -> Listener.Format, "reason" -> error.toString))

  override def serve(intake: Intake): Unit = {
    val shared = new Shared(settings, intake, admission, counts, clients, threads, clock, end(_))
    connector.addBean(clients): Unit
    server.addConnector(connector)
    server.addBean(new NetworkConnectionLimit(settings.maxConnections, connector)): Unit
    server.setErrorHandler(new BadRequests(counts))
    def text = counts.prometheus(clients.open, shared.budget.usedBytes, intake.gauges)
    server.setHandler(new IngestHandler(shared, isLoopback, () => text))
    connector.open(channel)
    server.start()
    clients.start()
  }

  override def close(): Unit = {
    counts.isStopping = true
    clients.stop()
    // An interrupted stop still stops everything.
    val interrupted = Thread.interrupted()
    try server.stop()
    catch { case NonFatal(e) => log.warn(s"${Listener.Format} on $address did not stop cleanly: $e", e) }
    finally {
      clients.closeAll()
      counts.logRefused(System.nanoTime(), isLast = true)
      // Jetty closes it only if it was accepting.
      Try(channel.close()): Unit
      if (interrupted) Thread.currentThread.interrupt()
    }
  }

  private def makeConnector(): ServerConnector = {
    val http = new HttpConnectionFactory(configuration)
    val factories = settings.tls.fold(Seq[ConnectionFactory](http)) { tls =>
      // Without Jetty's SNI host check: whether the certificate matches the Host is for the client to verify.
      http.getHttpConfiguration.addCustomizer(new SecureRequestCustomizer(false))
      Seq(new SslConnectionFactory(sslFactory(tls), http.getProtocol), http)
    }
    // 0 acceptors: the selector thread accepts. Buffers are not pooled: Jetty has released a buffer twice after requests that were
    // not HTTP, and then two clients would write into it.
    val connector = new ServerConnector(server, null, null, ByteBufferPool.NON_POOLING, 0, 1, factories: _*)
    connector.setIdleTimeout(settings.idleTimeout.toMillis)
    connector
  }

  /** A small pool is enough: no thread blocks. */
  private def makeThreads(): QueuedThreadPool = {
    val maxThreads = math.max(4, math.min(Runtime.getRuntime.availableProcessors * 2, 16))
    val pool = new QueuedThreadPool(maxThreads, 2)
    pool.setReservedThreads(0)
    pool.setName("epochal-http")
    pool.setDaemon(true)
    pool
  }

  private def configuration: HttpConfiguration = {
    val http = new HttpConfiguration
    http.setRequestHeaderSize(settings.maxHeaderBytes)
    http.setSendServerVersion(false)
    http.setSendDateHeader(false)
    http.setOutputBufferSize(4 << 10)
    http.setUseInputDirectByteBuffers(false)
    http.setUseOutputDirectByteBuffers(false)
    http
  }

  private def sslFactory(context: SSLContext): SslContextFactory.Server = {
    val factory = new SslContextFactory.Server
    factory.setSslContext(context)
    factory.setIncludeProtocols("TLSv1.3", "TLSv1.2")
    factory.setRenegotiationAllowed(false)
    factory
  }
}

/** State shared by all requests of a listener.
  *
  * @param executor
  *   sends responses, to keep that off the journal's thread
  * @param fatal
  *   takes an error of the JVM, which ends the query
  */
final private[http] class Shared(
    val settings: HttpSettings,
    val intake: Intake,
    val admission: Admission,
    val metrics: HttpMetrics,
    val clients: Clients,
    val executor: Executor,
    clock: Clock,
    val fatal: Throwable => Unit) {
  val budget = new BodyBudget(settings.maxBufferedBytes, clients.dropUpload(_))

  def nowMicros: Long = ChronoUnit.MICROS.between(Instant.EPOCH, clock.instant)
}

/** The open connections. Closes those of clients that send too slowly: an idle timeout does not catch them, because an occasional byte
  * resets it. Checks every second; holds no thread.
  *
  * Between requests only the idle timeout applies. A request head must be complete within `headTimeout` of its first byte; the first
  * head of a connection, of the connect.
  *
  * Clients that have not shown yet that they may write make room for others: their connections, the oldest first, while they have more
  * than half of all places or all places are taken; their bodies, the largest first, while memory is short.
  */
final private[http] class Clients(settings: HttpSettings, scheduler: Scheduler, metrics: HttpMetrics)
    extends Connection.Listener {
  import Clients._

  private val connections = new ConcurrentHashMap[Connection, Place]
  // Those that have not shown that they may write, the oldest first, and when they were opened.
  private val unproven = new LinkedHashMap[Connection, Long]
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
      val now = System.nanoTime()
      connections.put(connection, InHead(now)): Unit
      unproven.synchronized(unproven.put(connection, now)): Unit
      if (isStopped) connection.getEndPoint.close()
      makeRoom(now)
    }

  override def onClosed(connection: Connection): Unit = {
    connections.remove(connection): Unit
    proves(connection)
  }

  /** The client has shown that it may write. */
  def proves(connection: Connection): Unit = unproven.synchronized(unproven.remove(connection)): Unit

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
    val all = uploads.asScala.filter(one => one.unprovenSince.exists(now - _ > GraceNanos || one.received > size))
    all.maxByOption(_.received).map(_.abort()).nonEmpty
  }

  private def makeRoom(now: Long): Unit = {
    val crowd = unproven.synchronized {
      val excess = unproven.size - math.max(1, settings.maxConnections / 2)
      val least = if (connections.size >= settings.maxConnections) 1 else 0
      val old =
        unproven.asScala.iterator.takeWhile(now - _._2 > GraceNanos).map(_._1).take(math.max(least, excess)).toVector
      old.foreach(one => unproven.remove(one): Unit)
      old
    }
    crowd.foreach(drop)
  }

  private def drop(connection: Connection): Unit = {
    metrics.refused("too_slow")
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

  /** Sending the head of a request, since `since`. */
  final case class InHead(since: Long) extends Place

  /** Between two requests; `bytes` is the total received so far. */
  final case class Idle(bytes: Long) extends Place

  case object InRequest extends Place
}
