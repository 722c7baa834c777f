package io.epochal.spark.http

import java.time.Duration
import java.util.concurrent.ConcurrentHashMap

import org.apache.hc.client5.http.classic.methods.HttpUriRequestBase
import org.apache.hc.client5.http.config.{ConnectionConfig, RequestConfig}
import org.apache.hc.client5.http.impl.classic.{CloseableHttpClient, HttpClients}
import org.apache.hc.client5.http.impl.io.{
  ManagedHttpClientConnectionFactory,
  PoolingHttpClientConnectionManagerBuilder
}
import org.apache.hc.core5.http.config.Http1Config
import org.apache.hc.core5.http.io.SocketConfig
import org.apache.hc.core5.util.{TimeValue, Timeout}

/** What all tasks of a JVM share: connections that are kept alive, and the watch over interrupts. */
private[spark] object HttpConnections {

  private val clients = new ConcurrentHashMap[Duration, CloseableHttpClient]()

  /** One client, and so one pool of connections, for each timeout that queries ask for. */
  def client(timeout: Duration): CloseableHttpClient = clients.computeIfAbsent(timeout, build(_))

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
    val watchman = new Thread(
      () =>
        while (true) {
          Thread.sleep(InterruptMillis)
          requests.forEach((thread, request) => if (thread.isInterrupted) { val _ = request.cancel() })
        },
      "epochal-rest-interrupts")
    watchman.setDaemon(true)
    watchman.start()
    requests
  }

  // Nothing that costs on each request: no cookies, redirects, authentication, retries or decompression by the client.
  private def build(timeout: Duration): CloseableHttpClient = {
    val wait = Timeout.of(timeout)
    val connections = PoolingHttpClientConnectionManagerBuilder
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
      .build()
    HttpClients
      .custom()
      .setConnectionManager(connections)
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
