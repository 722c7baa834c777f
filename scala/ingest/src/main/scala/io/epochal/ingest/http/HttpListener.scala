package io.epochal.ingest.http

import java.net.InetSocketAddress
import java.nio.channels.ClosedSelectorException
import java.time.Clock
import javax.net.ssl.SSLContext

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import org.eclipse.jetty.io.{ByteBufferPool, ManagedSelector}
import org.eclipse.jetty.server._
import org.eclipse.jetty.util.ssl.SslContextFactory
import org.eclipse.jetty.util.thread.QueuedThreadPool
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.ingest.http.auth.Admission
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
final private[ingest] class HttpListener(settings: ListenerSettings, bind: InetSocketAddress, clock: Clock)
    extends Listener {
  private val log = LoggerFactory.getLogger(classOf[HttpListener])

  private val isLoopback = !bind.isUnresolved && bind.getAddress.isLoopbackAddress
  if (!bind.isUnresolved && !isLoopback && !settings.isProtected)
    throw Conditions.ListenerExposed(
      "format" -> Listener.Format,
      "address" -> bind.getHostString,
      "protection" -> IngestHttpOptions.Protection)

  private val admission: Admission = settings.admission.fold(new Admission {})(_.open(clock))
  private val counts = new HttpMetrics(sums =>
    log.warn(s"${Listener.Format} on ${Listener.remoteText(address)} refused requests since the last such line: $sums"))
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
  override def finalError: Option[EpochalException] = {
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
    val state = new HttpState(settings, intake, admission, counts, clients, threads, clock, end(_))
    connector.addBean(clients): Unit
    server.addConnector(connector)
    server.addBean(new NetworkConnectionLimit(settings.maxConnections, connector)): Unit
    server.setErrorHandler(new BadRequests(counts))
    def text = counts.prometheus(clients.open, state.budget.usedBytes, intake.gauges)
    server.setHandler(new IngestHandler(state, isLoopback, () => text))
    connector.open(channel)
    server.start()
    clients.start()
  }

  override def close(): Unit = {
    counts.isStopping = true
    clients.stop()
    // An interrupted stop still stops everything.
    val wasInterrupted = Thread.interrupted()
    try server.stop()
    catch { case NonFatal(e) => log.warn(s"${Listener.Format} on $address did not stop cleanly: $e", e) }
    finally {
      clients.closeAll()
      counts.logRefused(System.nanoTime(), isLast = true)
      // Jetty closes it only if it was accepting.
      Try(channel.close()): Unit
      if (wasInterrupted) Thread.currentThread.interrupt()
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
