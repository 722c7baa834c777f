package io.epochal.ingest.http

import java.io.IOException
import java.net.InetSocketAddress
import java.time.Clock
import java.util.concurrent.Executor

import org.eclipse.jetty.io.ByteBufferPool
import org.eclipse.jetty.server.{
  HttpConfiguration,
  HttpConnectionFactory,
  NetworkConnectionLimit,
  SecureRequestCustomizer,
  Server,
  ServerConnector,
  SslConnectionFactory
}
import org.eclipse.jetty.util.ssl.SslContextFactory
import org.eclipse.jetty.util.thread.QueuedThreadPool

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.ingest.http.auth.{Admission, OpenAdmission}
import io.epochal.ingest.http.body.BodyBudget
import io.epochal.ingest.intake.{Intake, Listener}

/** HTTP/1.1 listener: `POST /` and `POST /{stream}` for records, `GET /health` and `GET /metrics`. Listens from construction to
  * `close`.
  *
  * Status 200 means that the intake has stored the request. After any other status, or no response, it may or may not be stored:
  * retry with the same `Idempotency-Key`. At `close`, requests in flight get no response.
  *
  * @param bind
  *   port 0: any free port
  * @param gauges
  *   additional gauges in `/metrics`: name, description, value
  * @throws io.epochal.core.error.EpochalException
  *   LISTENER_EXPOSED, PORT_UNAVAILABLE
  */
final private[ingest] class HttpListener(
    settings: HttpSettings,
    bind: InetSocketAddress,
    intake: Intake,
    clock: Clock,
    gauges: () => Seq[(String, String, Long)] = () => Nil)
    extends Listener {

  if (bind.isUnresolved) throw unavailable(new IOException("the host is not known"))

  private val threads = HttpListener.threads()
  private val shared = new Shared(settings, intake, threads, clock)
  private val server = new Server(threads)
  private val connector = makeConnector()
  private val slow = new SlowClients(settings.limits.headTimeout.toNanos, connector.getScheduler, shared.metrics)

  start()

  override def address: InetSocketAddress = new InetSocketAddress(bind.getAddress, connector.getLocalPort)

  override def metrics: Map[String, String] = shared.metrics.progress(slow.open)

  override def close(): Unit = {
    slow.stop()
    // An interrupted stop still stops everything.
    val interrupted = Thread.interrupted()
    try server.stop()
    finally {
      slow.closeAll()
      if (interrupted) Thread.currentThread.interrupt()
    }
  }

  private def start(): Unit = {
    if (!bind.getAddress.isLoopbackAddress && !settings.isProtected)
      throw Conditions.ListenerExposed(
        "format" -> HttpListener.Format,
        "address" -> bind.getHostString,
        "protection" -> IngestHttpOptions.Protection)
    connector.addBean(slow): Unit
    server.addConnector(connector)
    server.addBean(new NetworkConnectionLimit(settings.limits.maxConnections, connector)): Unit
    server.setErrorHandler(new BadRequests(shared.metrics))
    def text = shared.metrics.prometheus(slow.open, shared.budget.usedBytes, gauges())
    server.setHandler(new IngestHandler(shared, slow, bind.getAddress.isLoopbackAddress, () => text))
    try {
      connector.open()
      server.start()
      slow.start()
    } catch {
      case e: Throwable =>
        close()
        throw e match {
          case e: IOException => unavailable(e)
          case other          => other
        }
    }
  }

  private def unavailable(error: IOException): EpochalException = Conditions.PortUnavailable.because(error)(
    "format" -> HttpListener.Format,
    "address" -> s"${bind.getHostString}:${bind.getPort}",
    "reason" -> Option(error.getCause).getOrElse(error).getMessage)

  private def makeConnector(): ServerConnector = {
    val http = new HttpConnectionFactory(HttpListener.configuration(settings.limits))
    val factories = settings.tls.fold(Seq[org.eclipse.jetty.server.ConnectionFactory](http)) { tls =>
      // Without Jetty's SNI host check: whether the certificate matches the Host is for the client to verify.
      http.getHttpConfiguration.addCustomizer(new SecureRequestCustomizer(false))
      Seq(new SslConnectionFactory(HttpListener.tls(tls), http.getProtocol), http)
    }
    // 0 acceptors: the selector thread accepts. Buffers are not pooled: Jetty has released a buffer twice after requests that were
    // not HTTP, and then two clients would write into it.
    val connector = new ServerConnector(server, null, null, ByteBufferPool.NON_POOLING, 0, 1, factories: _*)
    connector.setHost(bind.getAddress.getHostAddress)
    connector.setPort(bind.getPort)
    connector.setIdleTimeout(settings.limits.idleTimeout.toMillis)
    connector
  }
}

private object HttpListener {
  private val Format = "epochal-ingest"

  /** A small pool is enough: no thread blocks. */
  private def threads(): QueuedThreadPool = {
    val maxThreads = math.max(4, math.min(Runtime.getRuntime.availableProcessors * 2, 16))
    val pool = new QueuedThreadPool(maxThreads, 2)
    pool.setReservedThreads(0)
    pool.setName("epochal-http")
    pool.setDaemon(true)
    pool
  }

  private def configuration(limits: HttpLimits): HttpConfiguration = {
    val http = new HttpConfiguration
    http.setRequestHeaderSize(limits.maxHeaderBytes)
    http.setSendServerVersion(false)
    http.setSendDateHeader(false)
    http.setOutputBufferSize(4 << 10)
    http.setHeaderCacheSize(1 << 10)
    http.setUseInputDirectByteBuffers(false)
    http.setUseOutputDirectByteBuffers(false)
    http
  }

  private def tls(tls: ListenerTls): SslContextFactory.Server = {
    val factory = new SslContextFactory.Server
    factory.setSslContext(tls.context())
    factory.setIncludeProtocols("TLSv1.3", "TLSv1.2")
    factory.setRenegotiationAllowed(false)
    factory
  }
}

/** State shared by all requests of a listener.
  *
  * @param executor
  *   sends responses, to keep that off the journal's thread
  */
final private[http] class Shared(val settings: HttpSettings, val intake: Intake, val executor: Executor, clock: Clock) {
  val metrics = new HttpMetrics
  val budget = new BodyBudget(settings.limits.maxBufferedBytes)
  val admission: Admission = settings.admission.fold[Admission](OpenAdmission)(_.open(clock))

  def nowMicros: Long = {
    val now = clock.instant
    now.getEpochSecond * 1000000L + now.getNano / 1000
  }
}
