package io.epochal.rest.http

import java.io.{IOException, InputStream, InterruptedIOException}
import java.time.Duration
import java.util.concurrent.atomic.AtomicBoolean

import org.apache.hc.client5.http.auth.AuthScope
import org.apache.hc.client5.http.classic.{ExecChain, ExecChainHandler}
import org.apache.hc.client5.http.config.{ConnectionConfig, RequestConfig}
import org.apache.hc.client5.http.impl.ChainElement
import org.apache.hc.client5.http.impl.auth.CredentialsProviderBuilder
import org.apache.hc.client5.http.impl.classic.{CloseableHttpClient, HttpClients}
import org.apache.hc.client5.http.impl.io._
import org.apache.hc.client5.http.ssl.ClientTlsStrategyBuilder
import org.apache.hc.core5.http.impl.io.HttpRequestExecutor
import org.apache.hc.core5.http.io._
import org.apache.hc.core5.http.io.entity.HttpEntityWrapper
import org.apache.hc.core5.http.protocol.HttpContext
import org.apache.hc.core5.http.{ClassicHttpRequest, ClassicHttpResponse, HttpHost}
import org.apache.hc.core5.io.CloseMode
import org.apache.hc.core5.util.{TimeValue, Timeout}
import org.apache.logging.log4j.Level
import org.apache.logging.log4j.core.config.Configurator

/** A pool of keep-alive connections, shared by the JVM's queries with the same transport settings. When an `Error` such
  * as an `OutOfMemoryError` passes through the library, it closes the pool permanently; the pool is then replaced.
  */
final private[http] class HttpConnections(transport: HttpTransport) {
  import HttpConnections._

  @volatile private var running = new Running(transport)
  private var closed = false

  /** The current client: call it for each request. */
  def client: CloseableHttpClient = {
    if (running.isClosed) replace()
    running.client
  }

  /** Whether requests fail because the library has closed the pool. */
  def isClosed: Boolean = running.isClosed

  /** Closes the connections that no request uses. */
  def closeIdle(): Unit = running.closeIdle()

  private def replace(): Unit = synchronized {
    if (!closed && running.isClosed) {
      running.close()
      running = new Running(transport)
    }
  }

  private def close(): Unit = synchronized {
    closed = true
    running.close()
  }
}

private[http] object HttpConnections {

  private[http] val all = new SharedValues[HttpConnections](Capacity, _ => Kept, _.close())

  /** The pool for these transport settings. */
  def open(transport: HttpTransport): Lease[HttpConnections] =
    all.open(transport.identity)(new HttpConnections(transport))

  /** Each pool has a thread that evicts idle connections. */
  final private val Capacity = 32

  /** How long an unused pool is kept. */
  private val Kept = Duration.ofMinutes(10)

  final private class Running(transport: HttpTransport) {
    private val pool = connections(transport)
    val client: CloseableHttpClient = build(transport, pool)
    def isClosed: Boolean = pool.isClosed
    def closeIdle(): Unit = pool.closeIdle(TimeValue.ZERO_MILLISECONDS)
    def close(): Unit = client.close(CloseMode.IMMEDIATE)
  }

  private def connections(transport: HttpTransport): PoolingHttpClientConnectionManager = {
    val wait = Timeout.of(transport.timeout)
    val heads = ResponseLimits.config(BufferSize)
    val pool = PoolingHttpClientConnectionManagerBuilder
      .create()
      .setConnectionFactory(
        ManagedHttpClientConnectionFactory
          .builder()
          .http1Config(heads)
          .responseParserFactory(ResponseLimits.parsers(heads))
          .build())
      .setDefaultConnectionConfig(
        ConnectionConfig
          .custom()
          .setConnectTimeout(wait)
          .setSocketTimeout(wait)
          .setValidateAfterInactivity(TimeValue.ofSeconds(1))
          .setTimeToLive(TimeValue.ofMinutes(10))
          .build())
      .setDefaultSocketConfig(SocketConfig.custom().setSoTimeout(wait).setTcpNoDelay(true).build())
      .setMaxConnPerRoute(MaxConnections)
      .setMaxConnTotal(MaxConnections)
    transport.tls.foreach(tls =>
      pool.setTlsSocketStrategy(ClientTlsStrategyBuilder.create().setSslContext(tls.context()).buildClassic()))
    pool.build()
  }

  // Cookies, redirects, authentication by servers, retries and decompression by the client are off: they cost time on each
  // request.
  private def build(transport: HttpTransport, pool: PoolingHttpClientConnectionManager): CloseableHttpClient = {
    keepTrafficOutOfLogs()
    val wait = Timeout.of(transport.timeout)
    val clients = HttpClients.custom()
    if (transport.proxy.isEmpty) clients.replaceExecInterceptor(ChainElement.PROTOCOL.name, new DirectExchange)
    transport.proxy.foreach { proxy =>
      clients.setProxy(new HttpHost("http", proxy.host, proxy.port))
      proxy.login.foreach { case (user, password) =>
        val scope = new AuthScope(proxy.host, proxy.port)
        clients.setDefaultCredentialsProvider(
          CredentialsProviderBuilder.create().add(scope, user, password.toCharArray).build())
      }
    }
    clients
      .setConnectionManager(pool)
      .setRequestExecutor(new KeptConnections)
      .setDefaultRequestConfig(
        RequestConfig.custom().setResponseTimeout(wait).setConnectionRequestTimeout(wait).build())
      .disableCookieManagement()
      .disableAuthCaching()
      .disableRedirectHandling()
      .disableAutomaticRetries()
      .disableContentCompression()
      .disableConnectionState()
      .disableDefaultUserAgent()
      .evictIdleConnections(IdleTime)
      .build()
  }

  /** Sets the client's loggers to INFO, independently of the others: at DEBUG it logs request lines, headers and bodies,
    * and so every secret. A shaded jar has other logger names.
    */
  private def keepTrafficOutOfLogs(): Unit = {
    val ownPackage = classOf[CloseableHttpClient].getPackageName.stripSuffix(".http.impl.classic")
    val plain = ownPackage.substring(ownPackage.indexOf("org.apache"))
    try Set(ownPackage, plain).foreach(Configurator.setLevel(_, Level.INFO))
    catch { case _: LinkageError => () } // The log is not Log4j.
  }

  /** Holds a page of usual size with its head, so that a response takes one socket read. */
  private val BufferSize = 64 << 10

  /** Idle connections are closed after this time. */
  private val IdleTime = TimeValue.ofMinutes(1)

  /** More than a JVM's number of tasks. */
  private val MaxConnections = 4096
}

/** The shared values of the JVM that a client uses until it is closed. */
final private[http] class HttpResources(settings: HttpSettings, counters: HttpCounters, share: HttpBudget)
    extends AutoCloseable {
  private val open = new AtomicBoolean(true)
  val credentials: Seq[Credential] = settings.auth.map(_.open(settings, counters))
  val connections: Lease[HttpConnections] = HttpConnections.open(settings.transport)
  private val gates = HttpGate.open(settings.query, settings.endpoint.base.toString, settings.budget)
  val gate: HttpGate = gates.value
  gate.open(share)

  override def close(): Unit = if (open.compareAndSet(true, false)) {
    gate.close(share)
    (Seq(gates, connections) ++ credentials).foreach(_.close())
  }
}

/** Exchanges a request and a response without what only proxies need: the response to a challenge. Returns the connection
  * to the pool at the end of the body.
  */
final private class DirectExchange extends ExecChainHandler {

  override def execute(request: ClassicHttpRequest, scope: ExecChain.Scope, chain: ExecChain): ClassicHttpResponse = {
    val connection = scope.execRuntime
    try {
      val response = chain.proceed(request, scope)
      val body = response.getEntity
      if (body != null) response.setEntity(new HttpEntityWrapper(body) with EofSensorWatcher {
        override def getContent: InputStream = new EofSensorInputStream(super.getContent, this)

        override def eofDetected(content: InputStream): Boolean = {
          content.close()
          connection.releaseEndpoint()
          false
        }

        override def streamClosed(content: InputStream): Boolean = eofDetected(content)

        override def streamAbort(content: InputStream): Boolean = {
          connection.discardEndpoint()
          false
        }
      })
      response
    } catch {
      case e: Throwable =>
        connection.discardEndpoint()
        throw e
    }
  }
}

/** A request over a kept connection failed before a byte of the response arrived: probably the server had closed the
  * connection while it was idle.
  */
final private[http] class StaleConnection(val failure: IOException) extends IOException(failure)

/** Throws [[StaleConnection]] for such failures, other than timeouts. */
final private class KeptConnections extends HttpRequestExecutor {

  override def execute(
      request: ClassicHttpRequest,
      connection: HttpClientConnection,
      interim: HttpResponseInformationCallback,
      context: HttpContext): ClassicHttpResponse = {
    val counts = connection.getEndpointDetails
    val received = if (counts == null || counts.getResponseCount == 0) -1L else counts.getReceivedBytesCount
    try super.execute(request, connection, interim, context)
    catch {
      case e: IOException
          if received >= 0 && received == counts.getReceivedBytesCount && !e.isInstanceOf[InterruptedIOException] =>
        throw new StaleConnection(e)
    }
  }
}
