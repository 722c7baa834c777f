package io.epochal.rest.http

import java.net.{InetAddress, InetSocketAddress}
import java.util.concurrent.Executors

import com.sun.net.httpserver.{HttpExchange, HttpServer}

/** HTTP server on a free port of 127.0.0.1, from construction to `close`. Serves requests concurrently. */
abstract class StubServer(path: String) extends AutoCloseable {

  // Otherwise the JDK's server waits for TCP acknowledgements, 40 ms each.
  System.setProperty("sun.net.httpserver.nodelay", "true")

  private val server = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 0)
  private val threads = Executors.newCachedThreadPool()
  server.setExecutor(threads)
  server.createContext(
    path,
    exchange =>
      try serve(exchange)
      finally exchange.close())
  server.start()

  final def url: String = s"http://127.0.0.1:${server.getAddress.getPort}$path"

  protected def serve(exchange: HttpExchange): Unit

  final override def close(): Unit = {
    server.stop(0)
    val _ = threads.shutdownNow()
  }
}
