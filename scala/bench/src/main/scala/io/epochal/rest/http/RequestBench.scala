package io.epochal.rest.http

import java.net.{InetAddress, InetSocketAddress}
import java.util.concurrent.{Executors, TimeUnit}

import com.sun.net.httpserver.HttpServer
import org.openjdk.jmh.annotations._

import io.epochal.kit.record.Body
import io.epochal.rest.source.RestOptions

/** A complete request for a small page, to a server in the same JVM. */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
class RequestBench {
  private val buffer = new Body
  private val call = HttpCall("GET", "/c")
  private var server: HttpServer = _
  private var client: HttpClient = _

  @Setup def setUp(): Unit = {
    System.setProperty("sun.net.httpserver.nodelay", "true")
    val page = Array.fill[Byte](2000)(' ')
    server = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 0)
    server.setExecutor(Executors.newCachedThreadPool())
    server.createContext(
      "/c",
      exchange => {
        exchange.sendResponseHeaders(200, page.length.toLong)
        exchange.getResponseBody.write(page)
        exchange.close()
      })
    server.start()
    val options = RestOptions.read(Map("url" -> s"http://127.0.0.1:${server.getAddress.getPort}/c"))
    client = new HttpClient(options.fold(throw _, _.requests.http), new HttpCounters)
  }

  @TearDown def tearDown(): Unit = {
    client.close()
    server.stop(0)
  }

  @Benchmark def request(): Int = client.call(call, buffer)(_.status)
}
