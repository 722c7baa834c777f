package io.epochal.ingest.http

import java.io.ByteArrayOutputStream
import java.net.{InetSocketAddress, ServerSocket}
import java.nio.charset.StandardCharsets.UTF_8
import java.time.Clock
import java.util.concurrent.{CompletableFuture, ConcurrentLinkedQueue}
import java.util.zip.GZIPOutputStream

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.ingest.intake.{Arrival, Receipt}

/** Requests, their responses, and the arrivals that the intake gets. */
final class HttpListenerSuite extends AnyFunSuite with Eventually {
  import ListenerFixture.listening

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(30, Seconds), Span(20, Millis))

  private def gzip(text: String): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    Using.resource(new GZIPOutputStream(bytes))(_.write(text.getBytes(UTF_8)))
    bytes.toByteArray
  }

  test("records of every format are stored and counted, by POST and PUT, for the stream in the path") {
    listening() { fixture =>
      val first = fixture.post("a\nb\n")
      assert(first.body == """{"records":2}""" && first.headers.get("epochal-run").contains(fixture.intake.run))
      assert(fixture.ask("PUT", "/clicks", "[{\"x\":1}, 2]", "Content-Type" -> "application/json").status == 200)
      assert(fixture.ask("POST", "/clicks.2-a_~", "{}\n1\n", "Content-Type" -> "application/x-ndjson").status == 200)
      assert(fixture.ask("POST", "/", "a=b", "Content-Type" -> "application/x-www-form-urlencoded").status == 200)
      assert(fixture.intake.records == Seq("a", "b", "{\"x\":1}", "2", "{}", "1", "{\"a\":\"b\"}"))
      assert(fixture.intake.arrivals.map(_.stream) == Seq("", "clicks", "clicks.2-a_~", ""))
      assert(fixture.intake.arrivals.forall(_.remote.matches("127\\.0\\.0\\.1:\\d+")))
    }
  }

  test("an error of the JVM in a request refuses it, and ends the run by name") {
    listening() { fixture =>
      assert(fixture.listener.finalError.isEmpty)
      fixture.intake.instead = _ => throw new LinkageError("a class is missing")
      assert(fixture.post("a").status == 500)
      val error = fixture.listener.finalError
      assert(error.exists(_.condition == Conditions.FeedFailed) && error.get.getMessage.contains("a class is missing"))
    }
  }

  test("a listener whose selector has ended ends the run by name") {
    listening() { fixture =>
      assert(fixture.post("a").status == 200 && fixture.listener.finalError.isEmpty)
      fixture.listener.selectors.foreach(_.getSelector.close())
      eventually(assert(fixture.listener.finalError.exists(_.condition == Conditions.FeedFailed)))
    }
  }

  test("a request is not acknowledged before its receipt completes") {
    listening() { fixture =>
      val receipt = new CompletableFuture[Receipt]
      fixture.intake.instead = _ => Some(receipt)
      Using.resource(fixture.client()) { client =>
        val seen = new CompletableFuture[RawResponse]
        val reader = new Thread(() => { val _ = seen.complete(client.response()) })
        client.send(RawClient.request("POST", "/", "a".getBytes, "Content-Type" -> "text/plain"))
        reader.start()
        // Other requests get responses meanwhile: the first one holds no thread.
        (1 to 30).foreach(_ => assert(fixture.ask("GET", "/health", "").status == 200))
        assert(!seen.isDone)
        val _ = receipt.complete(Receipt.Stored(1))
        assert(seen.get().body == """{"records":1}""")
        reader.join()
      }
    }
  }

  test("a repeated key of the same stream is acknowledged as a duplicate and not stored") {
    listening() { fixture =>
      def send(path: String, key: String) =
        fixture.ask("POST", path, "a", "Content-Type" -> "text/plain", "Idempotency-Key" -> key)
      assert(send("/one", "k").body == """{"records":1}""")
      val again = send("/one", "k")
      assert(again.status == 200 && again.body == """{"records":1,"duplicate":true}""")
      assert(send("/two", "k").body == """{"records":1}""")
      assert(send("/one", "K").body == """{"records":1}""")
      assert(fixture.intake.arrivals.flatMap(_.key) == Seq("one/k", "two/k", "one/K"))
      Seq("", "a b", "x" * 256, "ü").foreach(key => assert(send("/", key).status == 400, key))
      assert(fixture.intake.arrivals.size == 3)
    }
  }

  test("a full journal responds with 429 and Retry-After, a failed one with 503 and without the reason") {
    listening() { fixture =>
      fixture.intake.instead = _ => Some(CompletableFuture.completedFuture(Receipt.Full(7)))
      val full = fixture.post("a")
      assert(full.status == 429 && full.headers("retry-after") == "7")
      val error = Conditions.JournalUnwritable("source" -> "s", "path" -> "/secret/place", "reason" -> "disk full")
      fixture.intake.instead = _ => Some(CompletableFuture.completedFuture(Receipt.Failed(error)))
      val failed = fixture.post("a")
      assert(failed.status == 503 && failed.headers.contains("retry-after") && !failed.body.contains("place"))
      fixture.intake.instead = _ => None
      fixture.intake.room = false
      assert(fixture.post("a").status == 429)
      assert(fixture.post("a" * (7 << 20)).status == 429)
      Using.resource(fixture.client()) { client =>
        client.send(
          "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n")
        assert(client.response().status == 429)
      }
      assert(fixture.ask("GET", "/health", "").status == 503)
      assert(fixture.listener.metrics("refusedFull") == "4" && fixture.listener.metrics("refused") == "5")
      // A request with a key goes to the journal even then: it may be a duplicate.
      assert(fixture.post("a", "Idempotency-Key" -> "k").status == 200)
    }
  }

  test("a malformed request gets the index of record and byte, no record is stored, and the connection stays open") {
    listening() { fixture =>
      Using.resource(fixture.client()) { client =>
        client.send(RawClient.request("POST", "/", "[1,{\"a\" 2}]".getBytes, "Content-Type" -> "application/json"))
        val refused = client.response()
        assert(
          refused.status == 400 && refused.body.matches("\\{\"error\":\"[^\"]+.*\",\"record\":1,\"position\":\\d+}"))
        client.send(RawClient.request("POST", "/", "[1]".getBytes, "Content-Type" -> "application/json"))
        assert(client.response().status == 200)
      }
      assert(fixture.intake.records == Seq("1"))
    }
    listening("malformed" -> "keep") { fixture =>
      assert(fixture.ask("POST", "/", "{\"a\":1}\n{\n", "Content-Type" -> "application/x-ndjson").status == 200)
      assert(fixture.intake.records == Seq("{\"a\":1}", "{"))
    }
  }

  test("gzip, chunks and Expect: 100-continue are read") {
    listening() { fixture =>
      val headers = Seq("Content-Type" -> "text/plain", "Content-Encoding" -> "gzip")
      assert(fixture.askBytes("POST", "/", gzip("a\nb"), headers: _*).body == """{"records":2}""")
      assert(fixture.askBytes("POST", "/", gzip("c").dropRight(1), headers: _*).status == 400)
      val plain = fixture.askBytes("POST", "/", "c".getBytes, headers: _*)
      assert(plain.status == 400 && plain.body.contains("the body cannot be decompressed: it is not gzip"))
      Using.resource(fixture.client()) { client =>
        client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
        Seq("2\r\nd\n\r\n", "1\r\ne\r\n", "0\r\n\r\n").foreach(client.send(_: String))
        assert(client.response().body == """{"records":2}""")
        client.send(
          "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n")
        assert(client.response().status == 100)
        client.send("f")
        assert(client.response().status == 200)
        // A request that will be refused gets its response before the body is sent.
        client.send(
          "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: text/html\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n")
        assert(client.response().status == 415)
      }
      assert(fixture.intake.records == Seq("a", "b", "d", "e", "f"))
    }
  }

  test("pipelined requests are stored in order") {
    listening() { fixture =>
      Using.resource(fixture.client()) { client =>
        val all =
          (1 to 200).flatMap(i => RawClient.request("POST", "/", s"$i".getBytes, "Content-Type" -> "text/plain"))
        client.send(all.toArray)
        (1 to 200).foreach(_ => assert(client.response().status == 200))
      }
      assert(fixture.intake.records == (1 to 200).map(_.toString))
    }
  }

  test("an empty text body is acknowledged without the intake") {
    listening()(fixture => assert(fixture.post("").body == """{"records":0}""" && fixture.intake.arrivals.isEmpty))
  }

  test("other types, encodings, methods and paths are refused with the matching status") {
    listening() { fixture =>
      val type415 = fixture.ask("POST", "/", "<a/>", "Content-Type" -> "application/xml")
      assert(
        type415.status == 415 && type415.body.contains("application/x-ndjson") && type415.headers.contains("accept"))
      val untyped = fixture.ask("POST", "/", "a")
      assert(untyped.status == 415 && untyped.body.contains("no Content-Type was sent: it is one of text/plain, "))
      assert(fixture.post("a", "Content-Encoding" -> "br").status == 415)
      val method405 = fixture.ask("GET", "/", "")
      assert(method405.status == 405 && method405.headers("allow") == "POST, PUT")
      assert(fixture.ask("POST", "/health", "").headers("allow") == "GET, HEAD")
      Seq("/a/b", "/a%2Fb", s"/${"x" * 129}", "/a%20b", "/%00").foreach { path =>
        val status = fixture.ask("POST", path, "a", "Content-Type" -> "text/plain").status
        assert(status == 404 || status == 400, path)
      }
      assert(fixture.intake.arrivals.isEmpty)
    }
  }

  test("rows contain the configured headers, and the client address from a trusted proxy") {
    val forwarded = "X-Forwarded-For" -> "6.6.6.6, 10.1.2.3"
    listening("headers" -> "X-GitHub-Event,X-Many,X-None") { fixture =>
      fixture.post("a", "x-github-event" -> "pu\"sh", "X-Many" -> "1", "X-Many" -> "2", "Other" -> "3", forwarded): Unit
      fixture.post("b"): Unit
      assert(fixture.intake.arrivals.map(_.headers) == Seq("""{"X-GitHub-Event":"pu\"sh","X-Many":"1, 2"}""", null))
      assert(fixture.intake.arrivals.forall(_.remote.startsWith("127.0.0.1:")))
    }
    listening("trustForwarded" -> "true") { fixture =>
      fixture.post("a", forwarded): Unit
      assert(fixture.intake.arrivals.map(_.remote) == Seq("10.1.2.3"))
    }
  }

  test("receivedAt is the clock's time in microseconds") {
    val clock = Clock.fixed(java.time.Instant.parse("2026-01-02T03:04:05.678901Z"), java.time.ZoneOffset.UTC)
    Using.resource(new ListenerFixture(Map.empty, clock)) { fixture =>
      fixture.post("a"): Unit
      assert(fixture.intake.arrivals.map(_.receivedAt) == Seq(1767323045678901L))
    }
  }

  test("/metrics counts accepted and refused requests, in Prometheus format") {
    listening() { fixture =>
      fixture.post("a\nbc"): Unit
      fixture.post("a", "Idempotency-Key" -> "k"): Unit
      fixture.post("a", "Idempotency-Key" -> "k"): Unit
      fixture.ask("POST", "/", "[", "Content-Type" -> "application/json"): Unit
      val lines = fixture.ask("GET", "/metrics", "").body.linesIterator.toSeq
      Seq(
        "epochal_ingest_http_requests_total{status=\"200\"} 3",
        "epochal_ingest_http_requests_total{status=\"400\"} 1",
        "epochal_ingest_http_refused_total{reason=\"malformed\"} 1",
        "epochal_ingest_http_records_total 3",
        "epochal_ingest_http_bytes_total 4",
        "epochal_ingest_http_duplicates_total 1",
        "epochal_ingest_journal_bytes 42",
        "epochal_ingest_http_ack_seconds_count 3",
        "epochal_ingest_http_ack_seconds_bucket{le=\"+Inf\"} 3"
      ).foreach(line => assert(lines.contains(line), lines.mkString("\n")))
      assert(lines.exists(_.matches("epochal_ingest_http_buffered_bytes 0")), lines)
      val sample = """[a-z_]+(\{[a-z]+="[^"]+"\})? [0-9.eE+-]+""".r
      assert(lines.filterNot(_.startsWith("# ")).forall(sample.matches), lines)
      assert(lines.forall(!_.contains("refused_total{reason=\"full\"}")), lines)
      assert(fixture.listener.metrics("requests") == "4" && fixture.listener.metrics("refused") == "1")
    }
  }

  test("a port in use is an error that names it, and the port is free immediately after close") {
    val first = new ListenerFixture(Map.empty, Clock.systemUTC())
    val taken = new InetSocketAddress("127.0.0.1", first.port)
    def again() = new HttpListener(ListenerFixture.settings(Map.empty), taken, Clock.systemUTC())
    val error = intercept[EpochalException](again())
    assert(error.condition == Conditions.PortUnavailable && error.getMessage.contains(s"127.0.0.1:${first.port}"))
    first.post("a"): Unit
    first.close()
    val second = again()
    assert(second.address == taken)
    second.close()
    second.close()
  }

  test("an unknown host is an error that names it") {
    val nowhere = InetSocketAddress.createUnresolved("no-such-host.invalid", 0)
    val settings = ListenerFixture.settings(Map("bearerToken" -> "t"))
    val error = intercept[EpochalException](new HttpListener(settings, nowhere, Clock.systemUTC()))
    assert(error.condition == Conditions.PortUnavailable && error.getMessage.contains("no-such-host.invalid:0"))
  }

  test("while the listener stops, a correct request gets 503 or no response, and the port is free afterwards") {
    (1 to 20).foreach { _ =>
      val fixture = new ListenerFixture(Map.empty, Clock.systemUTC())
      val taken = fixture.listener.address
      @volatile var ended = false
      val statuses = new ConcurrentLinkedQueue[Int]
      def post(): Unit = Using.resource(fixture.client()) { client =>
        while (!ended) {
          client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nContent-Length: 40000\r\n\r\n")
          (1 to 20).foreach(_ => client.send("x" * 2000))
          statuses.add(client.response().status): Unit
        }
      }
      val clients = Seq.fill(6)(new Thread(() => while (!ended) Try(post()): Unit))
      clients.foreach(_.start())
      eventually(assert(statuses.size > 20))
      fixture.close()
      Using.resource(new ServerSocket(taken.getPort, 1, taken.getAddress))(_ => ())
      ended = true
      clients.foreach(_.join())
      assert(statuses.asScala.toSet.subsetOf(Set(200, 503)), statuses)
    }
  }

  test("a listener that never served, or was full when it stopped, frees its port") {
    val unused =
      new HttpListener(ListenerFixture.settings(Map.empty), new InetSocketAddress("127.0.0.1", 0), Clock.systemUTC())
    unused.close()
    val full = new ListenerFixture(Map("connections" -> "1"), Clock.systemUTC())
    val client = full.client()
    eventually(assert(full.listener.metrics("connections") == "1"))
    full.close()
    Seq(unused.address, full.listener.address).foreach(taken =>
      Using.resource(new ServerSocket(taken.getPort, 1, taken.getAddress))(_ => ()))
    client.close()
  }

  test("close leaves no thread, ends requests in flight, and preserves the caller's interrupt") {
    // Some of these connections are opened while the listener closes.
    (1 to 40).foreach { _ =>
      val fixture = new ListenerFixture(Map.empty, Clock.systemUTC())
      val receipt = new CompletableFuture[Receipt]
      fixture.intake.instead = (_: Arrival) => Some(receipt)
      Using.resource(fixture.client()) { client =>
        client.send(RawClient.request("POST", "/", "a".getBytes, "Content-Type" -> "text/plain"))
        Thread.currentThread.interrupt()
        fixture.close()
        assert(Thread.interrupted())
        client.awaitEnd()
      }
      // A receipt may complete after close.
      assert(receipt.complete(Receipt.Stored(1)))
    }
    eventually {
      assert(!Thread.getAllStackTraces.keySet.toArray(Array.empty[Thread]).exists(_.getName.startsWith("epochal-http")))
    }
  }
}
