package io.epochal.rest.source

import java.io.ByteArrayOutputStream
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit.SECONDS
import java.util.zip.GZIPOutputStream

import scala.util.Using

import com.github.tomakehurst.wiremock.client.WireMock.{aResponse, okJson, post, urlPathEqualTo}
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.rest.http.{HostileResponses, RawServer}

/** The source against servers that try to exhaust its memory, time or tasks. */
final class HostileServerSuite extends AnyFunSuite with StubbedApi {

  private val members: Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    (0 until 20000).foreach(_ => new GZIPOutputStream(bytes).close())
    Using.resource(new GZIPOutputStream(bytes))(_.write(page.getBytes))
    bytes.toByteArray
  }

  HostileResponses.all.foreach { hostile =>
    test(s"${hostile.name}: the query ends with ${hostile.condition} soon") {
      hostile.against(options => failure(readAll(stream(options: _*))))
    }
  }

  test("a page after twenty thousand empty gzip members is read") {
    respond(aResponse().withHeader("Content-Encoding", "gzip").withBody(members))
    assert(readAll(stream()).size == 3)
  }

  test("200 headers, lines of 60 KB, 20 responses of 1xx and 9 empty lines are read") {
    val hints = "HTTP/1.1 103 Early Hints\r\n\r\n" * 20
    val headers = (1 to 198).map(i => s"X-$i: a\r\n").mkString + s"X: ${"a" * 60000}\r\n"
    val text = s"${"\r\n" * 9}${hints}HTTP/1.1 200 OK\r\n${headers}Content-Length: ${page.length}\r\n\r\n$page"
    Using.resource(new RawServer()((_, out) => out.write(text.getBytes))) { server =>
      assert(readAll(stream("url" -> server.url)).size == 3)
    }
  }

  test("an interrupt aborts a trickling response, long before its deadline") {
    val begun = new CountDownLatch(1)
    Using.resource(new RawServer()((_, out) => {
      out.write("HTTP/1.1 200 OK\r\n\r\n".getBytes)
      while (true) {
        out.write(' ')
        begun.countDown()
        Thread.sleep(20)
      }
    })) { server =>
      @volatile var ended = Option.empty[Throwable]
      val reading = new Thread(() =>
        try { val _ = readAll(stream("url" -> server.url)) }
        catch { case error: Throwable => ended = Some(error) })
      reading.start()
      assert(begun.await(60, SECONDS))
      reading.interrupt()
      reading.join(20000)
      assert(ended.exists(_.isInstanceOf[InterruptedException]), ended)
    }
  }

  Seq(
    "a name of 60 KB" -> s"""[{"${"n" * 60000}":1}]""" -> "exceeds the maximum",
    "nesting of 2000" -> s"""[{"a":${"[" * 2000}${"]" * 2000}}]""" -> "nesting depth",
    "a hundred thousand opening brackets" -> "[" * 100000 -> "nesting depth"
  ).foreach { case ((what, body), reason) =>
    test(s"$what is invalid JSON, and not requested again") {
      respond(okJson(body))
      val error = failure(readAll(stream()))
      assert(error.condition.name == "HTTP_BODY_INVALID" && error.getMessage.contains(reason), error.getMessage)
      assert(requests == 1)
    }
  }

  test("a redirect to an address of 60 KB, and a body that repeats a credential's name, are shortened in errors") {
    val redirect = s"http://h/${"password" * 7500}"
    Seq(
      aResponse().withStatus(302).withHeader("Location", redirect),
      aResponse().withStatus(400).withBody("password" * 10000)).foreach { response =>
      server.resetAll()
      respond(response)
      val error = failure(readAll(stream()))
      assert(error.condition.name == "HTTP_STATUS" && error.getMessage.length < 1000)
    }
  }

  test("a token server's response is limited to the size of a token") {
    val body = s"""{"access_token":"${"a" * (2 << 20)}"}"""
    server.stubFor(post(urlPathEqualTo("/c")).willReturn(okJson(body)))
    val login = Seq("oauth.tokenUrl" -> url, "oauth.clientId" -> "me", "oauth.clientSecret" -> secret)
    val error = failure(readAll(stream(login: _*)))
    assert(error.condition.name == "HTTP_RESPONSE_TOO_LARGE" && error.getMessage.contains("1048576 bytes"))
  }

  test("a cursor that is too long to send is refused by name") {
    val body = s"""{"items":[{"id":1}],"next":"${"a" * 100000}"}"""
    respond(aResponse().withBody(body))
    val error = failure(readAll(stream("pagination" -> "cursor", "records" -> "/items", "nextCursor" -> "/next")))
    assert(error.condition.name == "PAGINATION_MISMATCH" && error.getMessage.contains("100000 characters"))
    assert(error.getMessage.length < 1000)
  }
}
