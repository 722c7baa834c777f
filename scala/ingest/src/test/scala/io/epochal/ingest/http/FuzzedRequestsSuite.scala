package io.epochal.ingest.http

import java.io.{ByteArrayOutputStream, IOException}
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.time.Clock
import java.util.zip.GZIPOutputStream

import scala.concurrent.duration._
import scala.util.{Random, Using}

import org.apache.logging.log4j.Level
import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.Conditions
import io.epochal.support.{Fuzz, LoggedLines}

/** Clients that send random bytes: the listener responds with an error or closes the connection, stores no record of a refused
  * request, releases its memory, and serves the next client.
  */
final class FuzzedRequestsSuite extends AnyFunSuite with Fuzz with BeforeAndAfterAll {
  import Fuzz._
  import FuzzedRequestsSuite._

  private lazy val fixture =
    new ListenerFixture(Map("maxRequestBytes" -> "64k", "maxHeaderBytes" -> "8k"), Clock.systemUTC())

  override protected def afterAll(): Unit = fixture.close()

  /** Sends the bytes over one connection, in one or several pieces, and reads the responses.
    *
    * @return
    *   the statuses of the responses
    */
  private def attack(random: Random, bytes: Array[Byte]): Seq[Int] =
    Using.resource(fixture.client()) { client =>
      try {
        val pieces = if (random.nextInt(4) == 0) 1 + random.nextInt(5) else 1
        bytes.grouped(math.max(1, bytes.length / pieces)).foreach(client.send)
        // In one of five attacks the client disconnects silently.
        if (random.nextInt(5) > 0) {
          client.endOutput()
          Status.findAllMatchIn(client.rest()).map(_.group(1).toInt).toSeq
        } else Nil
      } catch { case _: IOException => Nil }
    }

  /** Checks that only acknowledged records were stored, and that a correct client is served. */
  private def check(before: Int, statuses: Seq[Int], vanished: Boolean): Unit = {
    // 501 and 505: an unsupported method or HTTP version.
    assert(statuses.forall(s => s == 100 || s == 200 || s >= 400 && s < 500 || s == 501 || s == 505), statuses)
    val kept = fixture.intake.arrivals.size - before
    if (!vanished) assert(kept <= statuses.count(_ == 200), s"kept $kept of $statuses")
    assert(fixture.post("a good one").body == """{"records":1}""")
    if (!statuses.contains(200))
      throw Conditions.RecordInvalid("index" -> 0, "url" -> "", "reason" -> statuses.mkString(","))
  }

  private def attacked(random: Random, bytes: Array[Byte]): Unit = {
    // A request of a client that disconnected may be stored a moment later.
    eventually(timeout(30.seconds))(assert(fixture.listener.metrics("connections") == "0"))
    val before = fixture.intake.arrivals.size
    val statuses = attack(random, bytes)
    check(before, statuses, vanished = statuses.isEmpty)
  }

  fuzz("random bytes are not a request") { random =>
    attacked(random, if (random.nextInt(5) == 0) good(random) else random.nextBytes(random.nextInt(20000)))
  }

  fuzz("valid requests with random changes") { random =>
    attacked(random, changed(random, Seq.fill(1 + random.nextInt(3))(good(random)).flatten.toArray, 4, Words))
  }

  fuzz("changed bodies under a valid head") { random =>
    val (kind, body) = one(random, Bodies)
    val broken = changed(random, body.getBytes(UTF_8), 6, JsonWords)
    val gzip = random.nextInt(4) == 0
    val sent = if (gzip) changed(random, compressed(broken), random.nextInt(2), Nil :+ "x") else broken
    val headers = Seq("Content-Type" -> kind) ++ Option.when(gzip)("Content-Encoding" -> "gzip")
    attacked(random, RawClient.request("POST", "/s", sent, headers: _*))
  }

  fuzz("invalid chunks") { random =>
    val chunks = Seq.fill(random.nextInt(5))(one(random, Chunks)).mkString
    attacked(
      random,
      s"POST / HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n$chunks".getBytes(
        ISO_8859_1))
  }

  test("conflicting lengths smuggle no second request") {
    val inner = "POST /smuggled HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx"
    Seq(
      s"Content-Length: ${inner.length + 5}\r\nTransfer-Encoding: chunked",
      "Transfer-Encoding: chunked\r\nContent-Length: 5",
      "Content-Length: 5\r\nContent-Length: 6",
      "Content-Length: 5, 5",
      "Content-Length: +5",
      "Content-Length: -1",
      "Content-Length: 5 5",
      "Content-Length: 99999999999999999999",
      "Transfer-Encoding: chunked, identity",
      "Transfer-Encoding: xchunked",
      "Transfer-Encoding : chunked",
      "Transfer-Encoding:\u000bchunked",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
      " Content-Length: 5"
    ).foreach { lengths =>
      Using.resource(fixture.client()) { client =>
        client.send(s"POST / HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n$lengths\r\n\r\n0\r\n\r\n$inner")
        client.endOutput()
        val statuses = Status.findAllMatchIn(client.rest()).map(_.group(1).toInt).toSeq
        assert(statuses.forall(_ >= 400), s"$lengths: $statuses")
      }
    }
    assert(!fixture.intake.arrivals.exists(_.stream == "smuggled"))
  }

  test("hostile requests log few lines and no stack trace") {
    val lines = LoggedLines.of(Level.WARN) {
      val random = new Random(1)
      (1 to 100).foreach(_ => attack(random, changed(random, good(random), 5, Words)))
      attack(random, s"GET /${"x" * 9000} HTTP/1.1\r\n\r\n".getBytes): Unit
      attack(random, s"GET / HTTP/1.1\r\nX: ${"x" * 9000}\r\n\r\n".getBytes): Unit
    }
    assert(lines.drop(1).forall(!_.contains("Exception")), lines.mkString("\n"))
    assert(lines.size < 60, lines.mkString("\n"))
  }
}

private object FuzzedRequestsSuite {
  val Status = "HTTP/1\\.1 (\\d{3}) ".r

  val Bodies: Seq[(String, String)] = Seq(
    "application/json" -> """[{"a":1,"b":"text","c":[1,2,{"d":null}]},{"a":2.5e3},"é",true]""",
    "application/x-ndjson" -> "{\"a\":1}\n{\"b\":\"\\u00e9\"}\n[1,2]\n",
    "text/plain" -> "a line\nanother one ä\n\nlast",
    "application/x-www-form-urlencoded" -> "a=1&payload=%7B%22a%22%3A1%7D&b=%C3%A4"
  )

  val JsonWords: Seq[String] =
    Seq(
      "[" * 3000,
      "{\"a\":" * 2000,
      "\u0000",
      "\"",
      "\\ud800",
      "1e999999",
      "NaN",
      "9" * 2000,
      "]",
      "}",
      ",",
      "\n",
      "%ff",
      "é")

  val Words: Seq[String] = Seq(
    "\r\n",
    "\r\n\r\n",
    "\n",
    "\u0000",
    "Content-Length: 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Expect: 100-continue\r\n",
    "Content-Encoding: gzip\r\n",
    "Connection: close\r\n",
    "HTTP/9.9",
    "/../..",
    "%2e%2e/",
    "é" * 100,
    "X: " + "y" * 9000,
    ":",
    " "
  )

  val Chunks: Seq[String] =
    Seq(
      "3\r\nabc\r\n",
      "0\r\n\r\n",
      "zz\r\n",
      "-1\r\n",
      "ffffffffffffffff\r\n",
      "7fffffff\r\nx",
      "3\r\nabcdef",
      "3;x=\"\r\n\"\r\nabc\r\n",
      "3\nabc\n",
      "\r\n",
      "0\r\nX: y\r\n\r\n")

  def good(random: Random): Array[Byte] = {
    val (kind, body) = Fuzz.one(random, Bodies)
    RawClient.request(
      "POST",
      "/stream",
      body.getBytes(UTF_8),
      "Content-Type" -> kind,
      "Idempotency-Key" -> s"k${random.nextLong()}")
  }

  def compressed(bytes: Array[Byte]): Array[Byte] = {
    val to = new ByteArrayOutputStream
    Using.resource(new GZIPOutputStream(to))(_.write(bytes))
    to.toByteArray
  }
}
