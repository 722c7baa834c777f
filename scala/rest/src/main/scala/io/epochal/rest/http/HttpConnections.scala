package io.epochal.rest.http

import java.time.Duration

import org.apache.hc.client5.http.auth.AuthScope
import org.apache.hc.client5.http.config.{ConnectionConfig, RequestConfig}
import org.apache.hc.client5.http.impl.auth.CredentialsProviderBuilder
import org.apache.hc.client5.http.impl.classic.{CloseableHttpClient, HttpClients}
import org.apache.hc.client5.http.impl.io.{
  ManagedHttpClientConnectionFactory,
  PoolingHttpClientConnectionManager,
  PoolingHttpClientConnectionManagerBuilder
}
import org.apache.hc.client5.http.ssl.ClientTlsStrategyBuilder
import org.apache.hc.core5.http.HttpHost
import org.apache.hc.core5.http.io.SocketConfig
import org.apache.hc.core5.io.CloseMode
import org.apache.hc.core5.util.{TimeValue, Timeout}
import org.apache.logging.log4j.Level
import org.apache.logging.log4j.core.config.Configurator

import io.epochal.rest.http.request.{Lease, ResponseLimits, SharedValues}

/** The connections of one kind that the queries of a JVM share, kept alive from request to request. The library closes all of
  * them for good when an `Error` passes through it, such as an `OutOfMemoryError`; they are replaced then.
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

  /** Whether requests that fail now fail because all connections were closed under them. */
  def isClosed: Boolean = running.isClosed

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

  /** One pool of connections for each kind of them that queries ask for. */
  def open(transport: HttpTransport): Lease[HttpConnections] =
    all.open(transport.identity)(new HttpConnections(transport))

  /** Each has a thread that closes connections which nobody used. */
  final private val Capacity = 32

  /** Pools that nobody uses. */
  private val Kept = Duration.ofMinutes(10)

  final private class Running(transport: HttpTransport) {
    private val pool = connections(transport)
    val client: CloseableHttpClient = build(transport, pool)
    def isClosed: Boolean = pool.isClosed
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

  // Nothing that costs on each request: no cookies, redirects, authentication, retries or decompression by the client.
  private def build(transport: HttpTransport, pool: PoolingHttpClientConnectionManager): CloseableHttpClient = {
    keepTrafficOutOfLogs()
    val wait = Timeout.of(transport.timeout)
    val clients = HttpClients.custom()
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

  /** At DEBUG the client logs request lines, headers and bodies, and so every secret: its level is INFO, whatever the level of the
    * others. Its loggers may be renamed, in a jar that has moved the client's package.
    */
  private def keepTrafficOutOfLogs(): Unit = {
    val moved = classOf[CloseableHttpClient].getPackageName.stripSuffix(".http.impl.classic")
    val plain = moved.substring(moved.indexOf("org.apache"))
    try Set(moved, plain).foreach(Configurator.setLevel(_, Level.INFO))
    catch { case _: LinkageError => () } // The log is not Log4j.
  }

  /** Holds a page of usual size with its head: one read from the socket for a response. */
  private val BufferSize = 64 << 10

  /** After which a connection that nobody used is closed. */
  private val IdleTime = TimeValue.ofMinutes(1)

  /** More than a JVM has tasks. */
  private val MaxConnections = 4096
}
