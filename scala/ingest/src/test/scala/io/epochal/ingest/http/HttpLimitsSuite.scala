package io.epochal.ingest.http

import java.io.ByteArrayOutputStream
import java.util.concurrent.CompletableFuture
import java.util.zip.GZIPOutputStream

import scala.annotation.tailrec
import scala.util.{Try, Using}

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow
import org.scalatest.time.{Millis, Seconds, Span}

import io.epochal.ingest.intake.Receipt

/** Limits on memory and time per client; other clients are served meanwhile. */
final class HttpLimitsSuite extends AnyFunSuite with Eventually {
  import ListenerFixture.listening

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(60, Seconds), Span(20, Millis))

  private val Text = "Content-Type: text/plain\r\n"

  private def buffered(fixture: ListenerFixture): String =
    fixture.ask("GET", "/metrics", "").body.linesIterator.find(_.startsWith("epochal_ingest_http_buffered_bytes ")).get

  private def packed(body: Array[Byte]): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    Using.resource(new GZIPOutputStream(bytes))(_.write(body))
    bytes.toByteArray
  }

  test("a body that is too large is refused: by its length, in chunks, or after decompression") {
    listening("maxRequestBytes" -> "100k") { fixture =>
      assert(fixture.post("x\n" * 51200).status == 200)
      assert(fixture.post("x\n" * 51201).status == 413)
      Using.resource(fixture.client()) { client =>
        client.send(s"POST / HTTP/1.1\r\nHost: h\r\n${Text}Transfer-Encoding: chunked\r\n\r\n")
        client.send("19001\r\n" + "x\n" * 51201)
        assert(client.response().status == 413)
        client.awaitEnd()
      }
      val bomb = packed(new Array[Byte](50 << 20))
      val refused = fixture.askBytes("POST", "/", bomb, "Content-Type" -> "text/plain", "Content-Encoding" -> "gzip")
      assert(refused.status == 413 && fixture.intake.arrivals.size == 1)
      assert(buffered(fixture).endsWith(" 0"))
    }
  }

  test("a head that is too large, or has too many headers, is refused") {
    listening("maxHeaderBytes" -> "4k") { fixture =>
      assert(fixture.post("a", "X-Large" -> "x" * 3000).status == 200)
      assert(fixture.post("a", "X-Large" -> "x" * 5000).status == 431)
      assert(fixture.post("a", (1 to 1000).map(i => s"X-$i" -> "x"): _*).status == 431)
      assert(fixture.ask("POST", s"/${"x" * 5000}", "a").status == 414)
    }
  }

  test("bodies share a memory budget; beyond it requests get 503, even while they are sent, and it is released") {
    listening("maxBufferedBytes" -> "24m", "maxRequestBytes" -> "16m", "maxRecordBytes" -> "16m") { fixture =>
      val receipt = new CompletableFuture[Receipt]
      fixture.intake.instead = _ => Some(receipt)
      Using.resource(fixture.client()) { client =>
        client.send(RawClient.request("POST", "/", Array.fill(15 << 20)('x'.toByte), "Content-Type" -> "text/plain"))
        eventually(assert(buffered(fixture).split(' ').last.toInt == (15 << 20)))
        val second = fixture.post("y" * (15 << 20))
        assert(second.status == 503 && second.headers("retry-after") == "1")
        val _ = receipt.complete(Receipt.Stored(1))
        assert(client.response().status == 200)
      }
      assert(buffered(fixture).endsWith(" 0"))
      fixture.intake.instead = _ => None
      assert(fixture.post("y" * (15 << 20)).status == 200)
    }
  }

  test("records of a small compressed body take memory until they are stored") {
    listening("maxBufferedBytes" -> "1m", "maxRequestBytes" -> "600k", "maxRecordBytes" -> "600k") { fixture =>
      val receipt = new CompletableFuture[Receipt]
      fixture.intake.instead = _ => Some(receipt)
      val body = packed(Array.fill(590 << 10)('x'.toByte))
      Using.resource(fixture.client()) { client =>
        val headers = Seq("Content-Type" -> "text/plain", "Content-Encoding" -> "gzip")
        client.send(RawClient.request("POST", "/", body, headers: _*))
        eventually(assert(buffered(fixture).split(' ').last.toInt == (590 << 10)))
        assert(fixture.askBytes("POST", "/", body, headers: _*).status == 503)
        val _ = receipt.complete(Receipt.Stored(1))
        assert(client.response().status == 200)
      }
      assert(buffered(fixture).endsWith(" 0"))
    }
  }

  test("memory is reserved for received bytes, not for Content-Length, and released when the client disconnects") {
    listening("maxBufferedBytes" -> "1m") { fixture =>
      val clients = Seq.fill(20)(fixture.client())
      clients.foreach(_.send(s"POST / HTTP/1.1\r\nHost: h\r\n${Text}Content-Length: 8000000\r\n\r\nx"))
      eventually(assert(buffered(fixture) == s"epochal_ingest_http_buffered_bytes ${20 * (8 << 10)}"))
      assert(fixture.post("a").status == 200)
      clients.foreach(_.close())
      eventually(assert(buffered(fixture).endsWith(" 0")))
    }
  }

  test("a connection whose head arrives byte by byte is closed, for the first head and a later one") {
    listening("headTimeout" -> "1s") { fixture =>
      Seq(false, true).foreach { later =>
        Using.resource(fixture.client()) { client =>
          if (later) {
            client.send(RawClient.request("POST", "/", "a".getBytes, "Content-Type" -> "text/plain"))
            assert(client.response().status == 200)
          }
          val dripping = new Thread(() =>
            try
              while (true) {
                client.send("X")
                Thread.sleep(50)
              }
            catch { case _: java.io.IOException => () })
          dripping.start()
          client.awaitEnd()
          dripping.join()
        }
      }
      eventually(assert(fixture.ask("GET", "/metrics", "").body.contains("refused_total{reason=\"too_slow\"} 2")))
    }
  }

  test("a connection between two requests may be idle for longer than a head may take") {
    listening("headTimeout" -> "1s") { fixture =>
      Using.resource(fixture.client()) { client =>
        def ask() = {
          client.send(RawClient.request("POST", "/", "a".getBytes, "Content-Type" -> "text/plain"))
          client.response().status
        }
        assert(ask() == 200)
        // Meanwhile another one runs into the timeout, twice, so that much time has passed.
        (1 to 2).foreach(_ => Using.resource(fixture.client())(_.awaitEnd()))
        assert(ask() == 200)
      }
    }
  }

  test("the connection of a body that is too slow is closed, and another client is served")(closesSlowBody(0))

  test("much at first does not permit a body to be slow later", Slow)(closesSlowBody(1000000))

  private def closesSlowBody(atFirst: Int): Unit =
    listening("minBytesPerSecond" -> "1k") { fixture =>
      Using.resource(fixture.client()) { client =>
        client.send(s"POST / HTTP/1.1\r\nHost: h\r\n${Text}Content-Length: 8000000\r\n\r\n")
        client.send("x" * atFirst)
        val dripping = new Thread(() =>
          try
            while (true) {
              client.send("x")
              Thread.sleep(100)
            }
          catch { case _: java.io.IOException => () })
        dripping.start()
        assert(fixture.post("a").status == 200)
        client.awaitEnd()
        dripping.join()
      }
      assert(fixture.intake.records == Seq("a"))
      eventually(assert(buffered(fixture).endsWith(" 0")))
    }

  test("a client that stops in the middle of a body gets 408, or its connection is closed") {
    listening("idle" -> "500") { fixture =>
      Using.resource(fixture.client()) { client =>
        client.send(s"POST / HTTP/1.1\r\nHost: h\r\n${Text}Content-Length: 10\r\n\r\nabc")
        val reply = client.rest()
        assert(reply.isEmpty || reply.startsWith("HTTP/1.1 408"), reply)
      }
      assert(fixture.intake.arrivals.isEmpty)
    }
  }

  test("a client that waits for a slow journal longer than the idle timeout gets its response") {
    listening("idle" -> "300") { fixture =>
      val receipt = new CompletableFuture[Receipt]
      fixture.intake.instead = _ => Some(receipt)
      Using.resource(fixture.client()) { client =>
        client.send(RawClient.request("POST", "/", "a".getBytes, "Content-Type" -> "text/plain"))
        // A second connection runs into the idle timeout meanwhile.
        Using.resource(fixture.client()) { other =>
          other.send("POST / HTTP/1.1\r\n")
          other.awaitEnd()
        }
        val _ = receipt.complete(Receipt.Stored(1))
        assert(client.response().status == 200)
      }
    }
  }

  test("slow bodies that are not yet known to be signed do not keep out signed requests") {
    val options = Seq("maxBufferedBytes" -> "1m", "maxRequestBytes" -> "600k", "maxRecordBytes" -> "600k")
    val secret = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    val signature = Seq("signature" -> "github", "signatureSecret" -> "It's a Secret to Everybody")
    listening(options ++ signature: _*) { fixture =>
      val slow = Seq.fill(8)(fixture.client())
      slow.foreach { client =>
        client.send(
          s"POST / HTTP/1.1\r\nHost: h\r\n${Text}X-Hub-Signature-256: sha256=$secret\r\nContent-Length: 590000\r\n\r\n")
        // Refused while it sends, if others have all the memory.
        Try(client.send("x" * 500000))
      }
      def signed = fixture.post("Hello, World!", "X-Hub-Signature-256" -> s"sha256=$secret").status
      (1 to 50).foreach { _ =>
        assert(signed == 200)
        Thread.sleep(20)
      }
      slow.foreach(_.close())
      eventually(assert(buffered(fixture).endsWith(" 0")))
    }
  }

  test("clients without the token do not keep out those that have it, however often they connect", Slow) {
    listening("bearerToken" -> "t", "connections" -> "10") { fixture =>
      @volatile var ended = false
      val silent =
        Seq.fill(15)(new Thread(() => while (!ended) Try(Using.resource(fixture.client())(_.awaitEnd())): Unit))
      silent.foreach(_.start())
      val headers = Seq("Content-Type" -> "text/plain", "Authorization" -> "Bearer t")
      def ask(client: RawClient): Int = {
        client.send(RawClient.request("POST", "/", "a".getBytes, headers: _*))
        client.response().status
      }
      // Jetty closes a connection that it accepts at the moment when another one takes the last place.
      @tailrec def connected(): RawClient = {
        val accepted = Try(fixture.client()).toOption.filter(client => Try(ask(client)).toOption.contains(200))
        if (accepted.nonEmpty) accepted.get else connected()
      }
      try {
        eventually(assert(fixture.listener.metrics("connections").toInt >= 5))
        val begun = System.nanoTime()
        Using.resource(connected()) { client =>
          assert(System.nanoTime() - begun < 15000000000L)
          // Long enough to be closed, if that client was taken for one without the token.
          Thread.sleep(4000)
          assert(ask(client) == 200)
        }
      } finally {
        ended = true
        fixture.close()
        silent.foreach(_.join())
      }
    }
  }

  test("connections beyond the maximum wait until others have ended") {
    listening("connections" -> "3") { fixture =>
      val open = Seq.fill(3)(fixture.client())
      open.foreach { client =>
        client.send(RawClient.request("POST", "/", "a".getBytes, "Content-Type" -> "text/plain"))
        assert(client.response().status == 200)
      }
      Using.resource(fixture.client()) { fourth =>
        fourth.send(RawClient.request("POST", "/", "b".getBytes, "Content-Type" -> "text/plain"))
        assert(fixture.intake.records.size == 3)
        open.head.close()
        assert(fourth.response().status == 200)
      }
      open.foreach(_.close())
      assert(fixture.intake.records == Seq("a", "a", "a", "b"))
    }
  }
}
