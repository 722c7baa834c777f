package io.epochal.spark.http

import java.util.concurrent.ConcurrentHashMap

import org.apache.hc.client5.http.auth.AuthScope
import org.apache.hc.client5.http.classic.methods.HttpUriRequestBase
import org.apache.hc.client5.http.config.{ConnectionConfig, RequestConfig}
import org.apache.hc.client5.http.impl.auth.CredentialsProviderBuilder
import org.apache.hc.client5.http.impl.classic.{CloseableHttpClient, HttpClients}
import org.apache.hc.client5.http.impl.io.{
  ManagedHttpClientConnectionFactory,
  PoolingHttpClientConnectionManagerBuilder
}
import org.apache.hc.client5.http.ssl.ClientTlsStrategyBuilder
import org.apache.hc.core5.http.HttpHost
import org.apache.hc.core5.http.config.Http1Config
import org.apache.hc.core5.http.io.SocketConfig
import org.apache.hc.core5.util.{TimeValue, Timeout}

import io.epochal.spark.DaemonThreads
import io.epochal.spark.http.transport.HttpTransport

/** What all tasks of a JVM share: connections that are kept alive, and the watch over interrupts. */
private[spark] object HttpConnections {

  private val clients = new ConcurrentHashMap[HttpTransport, CloseableHttpClient]()

  /** One client, and so one pool of connections, for each kind of them that queries ask for. */
  def client(transport: HttpTransport): CloseableHttpClient = clients.computeIfAbsent(transport, build(_))

  /** Says that the thread is waiting for this request: an interrupt breaks it off. Reading from a socket does not notice
    * interrupts by itself, and a query that is stopped must not wait for a slow server.
    */
  def watch(request: HttpUriRequestBase): Unit = {
    val _ = watched.put(Thread.currentThread(), request)
  }

  def unwatch(): Unit = {
    val _ = watched.remove(Thread.currentThread())
  }

  private lazy val watched: ConcurrentHashMap[Thread, HttpUriRequestBase] = {
    val requests = new ConcurrentHashMap[Thread, HttpUriRequestBase]
    val watchman = new DaemonThreads("epochal-rest-interrupts").newThread { () =>
      while (true) {
        Thread.sleep(InterruptMillis)
        requests.forEach((thread, request) => if (thread.isInterrupted) { val _ = request.cancel() })
      }
    }
    watchman.start()
    requests
  }

  // Nothing that costs on each request: no cookies, redirects, authentication, retries or decompression by the client.
  private def build(transport: HttpTransport): CloseableHttpClient = {
    ClientLog.withoutTraffic()
    val wait = Timeout.of(transport.timeout)
    val pool = PoolingHttpClientConnectionManagerBuilder
      .create()
      .setConnectionFactory(
        ManagedHttpClientConnectionFactory
          .builder()
          .http1Config(Http1Config.custom().setBufferSize(BufferSize).build())
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
      .setConnectionManager(pool.build())
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

  /** Holds a page of usual size with its head: one read from the socket for an answer. */
  private val BufferSize = 64 << 10

  /** After which a connection that nobody used is closed. */
  private val IdleTime = TimeValue.ofMinutes(1)

  /** How soon an interrupt is noticed. */
  private val InterruptMillis = 50L

  /** More than a JVM has tasks. */
  private val MaxConnections = 4096
}
