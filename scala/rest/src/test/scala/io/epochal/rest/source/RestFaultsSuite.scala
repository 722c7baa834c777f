package io.epochal.rest.source

import java.io.{BufferedReader, ByteArrayOutputStream, InputStreamReader}
import java.net.{InetAddress, ServerSocket}
import java.time.Duration
import java.util.zip.GZIPOutputStream

import scala.util.Using

import com.github.tomakehurst.wiremock.client.WireMock._
import com.github.tomakehurst.wiremock.http.Fault
import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.kit.source.{SourceOffset, SourceStream}
import io.epochal.support.Ports
import io.epochal.testkit.MicroBatch

/** The source against servers that fail in every possible way. */
final class RestFaultsSuite extends AnyFunSuite with StubbedApi {

  private val limitedPages = Seq("pagination" -> "offset", "pageSize" -> "2")

  Seq(
    "status 503" -> status(503),
    "status 500" -> status(500),
    "status 429" -> status(429),
    "status 408" -> status(408),
    "a connection reset" -> aResponse().withFault(Fault.CONNECTION_RESET_BY_PEER),
    "an empty response" -> aResponse().withFault(Fault.EMPTY_RESPONSE),
    "garbage in place of HTTP" -> aResponse().withFault(Fault.RANDOM_DATA_THEN_CLOSE),
    "garbage in the body" -> aResponse().withFault(Fault.MALFORMED_RESPONSE_CHUNK),
    "JSON that breaks off" -> okJson(page.dropRight(20)),
    "an empty body" -> ok("")
  ).foreach { case (fault, response) =>
    test(s"$fault is retried, by the driver and by tasks") {
      // Requests 1 and 2 are the driver's, 3 and 4 the task's.
      respond(response, good, response, good)
      val source = stream()
      assert(readAll(source).size == 3)
      assert(requests == 4)
      assert(metric(source, "retries") >= 1)
    }
  }

  test("a body that is shorter than announced is retried") {
    Using.resource(new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) { broken =>
      val lengths = Iterator(1000, page.length, 1000, page.length)
      val thread = new Thread(() =>
        lengths.foreach { length =>
          Using.resource(broken.accept()) { socket =>
            val in = new BufferedReader(new InputStreamReader(socket.getInputStream))
            Iterator.continually(in.readLine()).takeWhile(_.nonEmpty).foreach(_ => ())
            val head = s"HTTP/1.1 200 OK\r\nContent-Length: $length\r\nConnection: close\r\n\r\n"
            socket.getOutputStream.write((head + page).getBytes)
          }
        })
      thread.start()
      val source = stream("url" -> s"http://127.0.0.1:${broken.getLocalPort}/c")
      assert(readAll(source).size == 3)
      assert(metric(source, "requests") == 4 && metric(source, "retries") == 2)
      thread.join(20000)
    }
  }

  test("a server that is too slow is retried, and then reported with the timeout") {
    respond(good.withFixedDelay(3000), good)
    assert(readAll(stream("timeout" -> "200ms")).size == 3)
    server.resetAll()
    respond(good.withFixedDelay(3000))
    val error = failure(readAll(stream("timeout" -> "100ms", "retry.maxAttempts" -> "2")))
    assert(error.condition.name == "HTTP_TIMEOUT" && error.getMessage.contains("within 100 ms (2 attempts)"))
  }

  test("a server that keeps failing is reported with its status, its response, and the number of attempts") {
    respond(aResponse().withStatus(503).withBody("maintenance, token=hunter2"))
    val error = failure(readAll(stream("retry.maxAttempts" -> "3")))
    assert(error.condition.name == "HTTP_STATUS")
    assert(error.getMessage.contains(s"$url responded with status 503 (3 attempts): maintenance, token=***"))
    assert(requests == 3)
  }

  Seq(400, 401, 403, 404, 422).foreach { code =>
    test(s"status $code fails at once") {
      respond(status(code))
      assert(failure(readAll(stream())).getMessage.contains(s"status $code (1 attempt)"))
      assert(requests == 1)
    }
  }

  test("a redirect to another server is not followed, and the error names its target without the query") {
    respond(status(302).withHeader("Location", "http://user:hunter2@other/c?token=hunter2"))
    assert(failure(readAll(stream())).getMessage.contains("this one goes to http://other/c"))
  }

  test("a refused connection at the very first request is given up on after a few attempts") {
    val port = Ports.free()
    val begin = System.nanoTime()
    val error = failure(readAll(stream("url" -> s"http://me:hunter2@127.0.0.1:$port/c?key=hunter2")))
    assert(error.condition.name == "HTTP_UNREACHABLE")
    assert(
      error.getMessage.contains(s"http://127.0.0.1:$port/c could not be reached") && error.getMessage.contains(
        "(3 attempts)"))
    assert(Duration.ofNanos(System.nanoTime() - begin).toSeconds < 10)
  }

  test("a limit of attempts, or of their duration, that the user sets holds for the very first request too") {
    def attempts(limit: (String, String)): String =
      failure(readAll(stream("url" -> s"http://127.0.0.1:${Ports.free()}/c", limit))).values("attempts")
    assert(attempts("retry.maxAttempts" -> "10") == "10" && attempts("retry.maxAttempts" -> "2") == "2")
    assert(attempts("retry.deadline" -> "1m") == "8")
  }

  test("a replayed batch contacts the server before tasks start") {
    val port = Ports.free()
    val source = stream("url" -> s"http://127.0.0.1:$port/c")
    def at(n: Long) =
      source.deserializeOffset(RestOffset.toJson(s"http://127.0.0.1:$port/c (none)", RestPosition.Planned(n)))
    assert(failure(source.planInputPartitions(at(0), at(5))).condition.name == "HTTP_UNREACHABLE")
  }

  test("gzip is requested, and read") {
    val bytes = new ByteArrayOutputStream
    Using.resource(new GZIPOutputStream(bytes))(_.write(page.getBytes))
    server.stubFor(
      get(urlPathEqualTo("/c"))
        .withHeader("Accept-Encoding", equalTo("gzip, zstd"))
        .willReturn(aResponse().withHeader("Content-Encoding", "gzip").withBody(bytes.toByteArray)))
    assert(readAll(stream()).map(_.head) == Seq(0, 1, 2))
  }

  test("a response that is too large is not read further, even if it is compressed") {
    val bytes = new ByteArrayOutputStream
    Using.resource(new GZIPOutputStream(bytes))(zip => (1 to 1000).foreach(_ => zip.write(new Array[Byte](10000))))
    Seq(ok(" " * 100000), aResponse().withHeader("Content-Encoding", "gzip").withBody(bytes.toByteArray)).foreach {
      large =>
        server.resetAll()
        respond(large)
        val error = failure(readAll(stream("maxResponseBytes" -> "50k")))
        assert(error.condition.name == "HTTP_RESPONSE_TOO_LARGE" && error.getMessage.contains("51200 bytes"))
        assert(requests == 1)
    }
  }

  Seq(
    "a whole body that is no JSON" -> ok("<html>busy</html>") -> "Unexpected character",
    "nesting that is too deep" -> okJson("[" + "[" * 2000 + "]" * 2000 + "]") -> "nesting depth",
    "an unrequested encoding" -> good.withHeader("Content-Encoding", "br") -> "encoded as 'br'"
  ).foreach { case ((fault, response), reason) =>
    test(s"$fault fails at once by its name") {
      respond(response)
      val error = failure(readAll(stream()))
      assert(error.condition.name == "HTTP_BODY_INVALID" && error.getMessage.contains(reason), error.getMessage)
      assert(requests == 1 && error.getMessage.contains("(1 attempt)"))
    }
  }

  /** Responds to each connection with the next body, ended only by closing the connection. */
  private def closing[A](bodies: String*)(body: String => A): A =
    Using.resource(new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) { server =>
      val thread = new Thread(() =>
        bodies.foreach { text =>
          Using.resource(server.accept()) { socket =>
            val in = new BufferedReader(new InputStreamReader(socket.getInputStream))
            Iterator.continually(in.readLine()).takeWhile(_.nonEmpty).foreach(_ => ())
            socket.getOutputStream.write(s"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n$text".getBytes)
          }
        })
      thread.start()
      try body(s"http://127.0.0.1:${server.getLocalPort}/c")
      finally thread.join(20000)
    }

  private val lined = Seq(
    "csv" -> "id,name\n1,a\n2,b\n300,c\n",
    "ndjson" -> "{\"id\":1}\n{\"id\":2}\n300\n".replace("300\n", "{\"id\":300}\n"))

  lined.foreach { case (format, whole) =>
    test(s"$format that is cut within a line, and ended by the connection alone, is retried") {
      // Once for the driver, and once for the task.
      closing(whole.dropRight(3), whole, whole.dropRight(4), whole) { url =>
        val source = stream("url" -> url, "bodyFormat" -> format)
        assert(readAll(source).map(_.head) == Seq(1, 2, 300))
        assert(metric(source, "requests") == 4 && metric(source, "retries") == 2)
      }
    }

    test(s"$format whose last line never ends, with the connection alone, fails by name after all attempts") {
      closing(whole.dropRight(1), whole.dropRight(1)) { url =>
        val error = failure(readAll(stream("url" -> url, "bodyFormat" -> format, "retry.maxAttempts" -> "2")))
        assert(error.condition.name == "HTTP_BODY_INVALID" && error.getMessage.contains("(2 attempts)"))
        assert(error.getMessage.contains("it may be cut"))
      }
    }

    test(s"$format with a known length needs no last line break") {
      respond(ok(whole.dropRight(1)))
      assert(readAll(stream("bodyFormat" -> format)).size == 3 && requests == 2)
    }
  }

  test("JSON that is cut, and ended by the connection alone, is retried") {
    closing(page.dropRight(20), page, "<html>", page) { url =>
      val source = stream("url" -> url)
      assert(readAll(source).size == 3 && metric(source, "requests") == 4)
    }
  }

  test("headers and parameters are sent with every request, and appear in no error") {
    respond(status(403).withBody("no"))
    val source = stream("headers.X-Key" -> "hunter2", "params.api key" -> "hunter2", "params.lang" -> "en")
    failure(readAll(source))
    server.verify(
      getRequestedFor(urlEqualTo("/c?api%20key=hunter2&lang=en"))
        .withHeader("X-Key", equalTo("hunter2"))
        .withHeader("Accept", equalTo("application/json")))
  }

  test("a record that does not fit the schema is refused by its index, with the reason") {
    Seq(
      """{"id":"hunter2"}""" -> "does not fit the schema: the column 'id' is INT, and the record has a string there",
      """{"id":1.5}""" -> "does not fit the schema: the column 'id' is INT, and the record has a number with a fraction",
      """{"name":"x"}""" -> "the column 'id' is NOT NULL",
      """7""" -> "it is a number, not an object",
      """null""" -> "it is null, not an object"
    ).foreach { case (record, reason) =>
      server.resetAll()
      respond(okJson(s"""[{"id":0},{"id":1},$record,{"id":3}]"""))
      val error = failure(readAll(stream()))
      assert(error.condition.name == "RECORD_INVALID", record)
      assert(error.getMessage.contains(s"Record 2 of $url") && error.getMessage.contains(reason), error.getMessage)
      assert(requests == 2)
    }
  }

  test("JSON that breaks off after some records is retried, and no record is delivered twice") {
    respond(okJson(page), okJson(page.dropRight(10)), okJson(page))
    assert(readAll(stream()).map(_.head) == Seq(0, 1, 2))
    assert(requests == 3)
  }

  test("no array at the pointer is an error that names the value there") {
    respond(okJson("""{"items":[],"total":0}"""))
    assert(failure(readAll(stream("records" -> "/data"))).getMessage.contains("an object with items, total"))
  }

  test("a server that ignores the limit is refused") {
    respond(okJson(page))
    assert(failure(readAll(stream(limitedPages: _*))).condition.name == "PAGINATION_MISMATCH")
  }

  /** A stream over an API that had five records and has two. */
  private def shrunk(failOnDataLoss: Boolean)(
      body: (RecordsApi, SourceStream[RestPosition], Long => SourceOffset[RestPosition]) => Any): Unit =
    RecordsApi.using(records = 2) { api =>
      val extra = Seq("url" -> api.url, "sourceId" -> "shrunk", "failOnDataLoss" -> failOnDataLoss.toString)
      val source = stream(limitedPages ++ extra: _*)
      val _ = body(api, source, n => source.deserializeOffset(RestOffset.toJson("shrunk", RestPosition.Planned(n))))
    }

  test("an API with fewer records than delivered is data loss, which names the lost records") {
    shrunk(failOnDataLoss = true) { (_, source, at) =>
      val error = failure(source.latestOffset(at(5), ReadLimit.maxRows(10)))
      assert(error.condition.name == "DATA_LOSS" && error.getMessage.contains("from offset 2 to 5 are gone"))
    }
  }

  test("records missing from a planned batch are data loss") {
    shrunk(failOnDataLoss = true) { (_, source, at) =>
      val error = failure(MicroBatch.read(source, schema, at(0), at(5)))
      assert(error.condition.name == "DATA_LOSS" && error.getMessage.contains("from offset 2 to 5 are gone"))
    }
  }

  test("without failOnDataLoss the offset stays, and reading resumes once there are more records than that") {
    shrunk(failOnDataLoss = false) { (api, source, at) =>
      assert(MicroBatch.next(source, at(5), ReadLimit.maxRows(10)).isEmpty)
      assert(MicroBatch.read(source, schema, at(0), at(5)).size == 2)
      api.count = 8
      val end = MicroBatch.next(source, at(5), ReadLimit.maxRows(10))
      assert(end.map(_.asInstanceOf[SourceOffset[RestPosition]].position.records).contains(8L))
      assert(MicroBatch.read(source, schema, at(5), at(8)).map(_.head) == Seq(5, 6, 7))
    }
  }

  test("an interrupt aborts a request that waits for a server") {
    Using.resource(new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))) { silent =>
      @volatile var thrown = Option.empty[Throwable]
      val source = stream("url" -> s"http://127.0.0.1:${silent.getLocalPort}/c")
      val thread = new Thread(() =>
        try { val _ = readAll(source) }
        catch { case e: Throwable => thrown = Some(e) })
      thread.start()
      Using.resource(silent.accept()) { _ =>
        thread.interrupt()
        thread.join(20000)
      }
      assert(thrown.exists(_.isInstanceOf[InterruptedException]), thrown)
    }
  }
}
