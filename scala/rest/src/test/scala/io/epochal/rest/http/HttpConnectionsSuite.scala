package io.epochal.rest.http

import java.io.{InputStream, OutputStream}
import java.util.concurrent.CountDownLatch

import scala.util.Using

import org.apache.hc.client5.http.classic.methods.HttpPost
import org.apache.hc.core5.http.io.entity.AbstractHttpEntity
import org.apache.hc.core5.http.{ContentType, HttpHost}
import org.apache.hc.core5.io.CloseMode
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.kit.record.Body
import io.epochal.rest.source.RestOptions

/** The JVM's shared connections survive every kind of failed request. */
final class HttpConnectionsSuite extends AnyFunSuite {

  private def answering(body: (HttpSettings, RawServer) => Any): Unit =
    Using.resource(new RawServer()((_, out) => out.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]".getBytes))) {
      server =>
        val options = Map("url" -> server.url, "retry.initialDelay" -> "1ms")
        val _ = body(RestOptions.read(options).fold(throw _, _.requests.http), server)
    }

  private def ask(client: HttpClient): Int =
    client.call(HttpCall("GET", "/c"), new Body)(response => response.status)

  test("a closed client is replaced, for current and new users") {
    answering { (settings, _) =>
      Using.resource(new HttpClient(settings, new HttpCounters)) { client =>
        assert(ask(client) == 200)
        Using.resource(HttpConnections.open(settings.transport))(_.value.client.close(CloseMode.IMMEDIATE))
        assert(ask(client) == 200)
        Using.resource(new HttpClient(settings, new HttpCounters))(other => assert(ask(other) == 200))
      }
    }
  }

  test("an Error during a request closes the library's client; the next request gets a new one") {
    answering { (settings, server) =>
      val failing = new AbstractHttpEntity(ContentType.TEXT_PLAIN, null) {
        override def writeTo(out: OutputStream): Unit = throw new OutOfMemoryError("injected")
        override def getContentLength: Long = 10
        override def isStreaming: Boolean = false
        override def getContent: InputStream = throw new UnsupportedOperationException
        override def close(): Unit = ()
      }
      Using.resource(HttpConnections.open(settings.transport)) { lease =>
        val died = lease.value.client
        val request = new HttpPost(server.url)
        request.setEntity(failing)
        intercept[OutOfMemoryError](died.executeOpen(HttpHost.create(settings.endpoint.base), request, null))
        assert(lease.value.isClosed)
        assert(lease.value.client ne died)
        assert(!lease.value.isClosed)
        Using.resource(new HttpClient(settings, new HttpCounters))(client => assert(ask(client) == 200))
      }
    }
  }

  /** A server that closes each connection after one response without announcing it, and requests without retries.
    *
    * @param kept
    *   connections that are open together before it responds to the first request
    */
  private def closing(kept: Int)(body: (HttpClient, HttpCounters, RawServer) => Any): Unit = {
    val all = new CountDownLatch(kept)
    Using.resource(new RawServer()((_, out) => {
      all.countDown()
      all.await()
      out.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]".getBytes)
    })) { server =>
      val settings =
        RestOptions.read(Map("url" -> server.url, "retry.maxAttempts" -> "1")).fold(throw _, _.requests.http)
      val counters = new HttpCounters
      Using.resource(new HttpClient(settings, counters)) { client =>
        val first = Seq.fill(kept)(new Thread(() => { val _ = ask(client) }))
        first.foreach(_.start())
        first.foreach(_.join())
        val _ = body(client, counters, server)
      }
    }
  }

  test("a request over a connection that the server had closed is repeated at once, over a new connection") {
    closing(kept = 3) { (client, counters, server) =>
      assert(ask(client) == 200)
      assert(counters.value.retries == 1)
      assert(server.connections == 4)
    }
  }

  test("a request that must not be sent twice is not repeated at once") {
    closing(kept = 1) { (client, _, server) =>
      val call = HttpCall("POST", "/c", repeatable = false)
      val error = intercept[EpochalException](client.call(call, new Body)(_.status))
      assert(error.condition.name == "HTTP_UNREACHABLE" && error.values("attempts") == "1")
      assert(server.connections == 1)
    }
  }

  test("a new connection that the server closes without a response is a failure") {
    Using.resource(new RawServer()((_, _) => ())) { server =>
      val settings =
        RestOptions.read(Map("url" -> server.url, "retry.maxAttempts" -> "1")).fold(throw _, _.requests.http)
      Using.resource(new HttpClient(settings, new HttpCounters)) { client =>
        assert(intercept[EpochalException](ask(client)).condition.name == "HTTP_UNREACHABLE")
        assert(server.connections == 1)
      }
    }
  }
}
