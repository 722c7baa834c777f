package io.epochal.rest.http

import java.io.{InputStream, OutputStream}
import java.util.concurrent.TimeUnit.{MILLISECONDS, NANOSECONDS}

import scala.util.Using

import io.epochal.core.error.EpochalException

/** A hostile response to a waiting client, and the error that it must cause soon.
  *
  * @param options
  *   of the source or the sink
  * @param reason
  *   a part of the error's message
  * @param once
  *   whether it is requested only once
  * @param secured
  *   whether the URL is an https URL
  */
final case class HostileResponse(
    name: String,
    options: Seq[(String, String)],
    condition: String,
    reason: String,
    once: Boolean = true,
    secured: Boolean = false)(val serve: (InputStream, OutputStream) => Unit) {

  /** Serves the response.
    *
    * @param ask
    *   reads from the URL, or writes to it, with the options
    */
  def against(ask: Seq[(String, String)] => EpochalException): Unit =
    Using.resource(new RawServer(awaitHead = !secured)(serve)) { server =>
      val begin = System.nanoTime()
      val url = if (secured) server.url.replace("http:", "https:") else server.url
      val error = ask(("url" -> url) +: options)
      val seconds = NANOSECONDS.toSeconds(System.nanoTime() - begin)
      assert(error.condition.name == condition && error.getMessage.contains(reason), error.getMessage)
      assert(error.getMessage.length < 1000 && seconds < HostileResponses.MaxSeconds, s"$seconds s")
      if (once) assert(server.connections == 1, s"${server.connections} connections")
    }
}

object HostileResponses {
  val MaxSeconds = 30

  private val limit = "HTTP_LIMIT_EXCEEDED"
  private val slow = "HTTP_TOO_SLOW"
  private val soon = Seq("requestDeadline" -> "400ms", "retry.maxAttempts" -> "2")
  private val small = Seq("maxResponseBytes" -> "4k")

  private def head(more: String): String = s"HTTP/1.1 200 OK\r\n$more\r\n"
  private val chunked = head("Transfer-Encoding: chunked\r\n")
  private val gzip = head("Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n")

  /** Sends `first`, and then `again` as fast as the client reads. */
  private def flood(first: String, again: String): (InputStream, OutputStream) => Unit = (_, out) => {
    out.write(bytes(first))
    val many = bytes(again * math.max(1, 16384 / again.length))
    while (true) out.write(many)
  }

  /** Sends `first`, and then `again` every `pause` milliseconds. */
  private def trickle(first: String, again: String, pause: Long = 20): (InputStream, OutputStream) => Unit =
    (_, out) => {
      out.write(bytes(first))
      while (true) {
        out.write(bytes(again))
        MILLISECONDS.sleep(pause)
      }
    }

  private def bytes(text: String): Array[Byte] = text.getBytes("ISO-8859-1")

  private def chunk(data: String): String = s"${data.length.toHexString}\r\n$data\r\n"

  private val emptyMember = "\u001f\u008b\b\u0000\u0000\u0000\u0000\u0000\u0000\u0003\u0003\u0000" + "\u0000" * 8
  private val begunMember = "\u001f\u008b\b\u0000\u0000\u0000\u0000\u0000\u0000\u0003"
  private val emptyBlock = "\u0000\u0000\u0000\u00ff\u00ff"

  val all: Seq[HostileResponse] = Seq(
    HostileResponse("a status line without end", Nil, limit, "more than 65535 bytes")(flood("HTTP/1.1 200 ", "a")),
    HostileResponse(
      "a version below none",
      Seq("retry.maxAttempts" -> "2", "retry.initialDelay" -> "10ms"),
      "HTTP_UNREACHABLE",
      "must not be negative",
      once = false)((_, out) => out.write(bytes("HTTP/-1.1 200 OK\r\n\r\n"))),
    HostileResponse("a header without end", Nil, limit, "more than 65535 bytes")(flood("HTTP/1.1 200 OK\r\nX: ", "a")),
    HostileResponse("a header of lines without end", Nil, limit, "more than 65535 bytes")(
      flood("HTTP/1.1 200 OK\r\nX: a\r\n", " b\r\n")),
    HostileResponse("headers without end", Nil, limit, "more than 200 headers")(
      flood("HTTP/1.1 200 OK\r\n", "X: a\r\n")),
    HostileResponse("empty lines without end", Nil, limit, "more than 9 empty lines")(flood("", "\r\n")),
    HostileResponse("responses of 1xx without end", Nil, limit, "more than 20 responses of 1xx")(
      flood("", "HTTP/1.1 100 Continue\r\n\r\n")),
    HostileResponse("early hints without end", Nil, limit, "more than 20 responses of 1xx")(
      flood("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")),
    HostileResponse("a chunk's extension without end", Nil, limit, "more than 65535 bytes")(flood(chunked + "1;", "a")),
    HostileResponse("trailers without end", Nil, limit, "more than 200 headers")(flood(chunked + "0\r\n", "X: a\r\n")),
    HostileResponse("an extension of 60 KB for each byte", small, limit, "more than")(
      flood(chunked, s"1;${"a" * 60000}\r\nx\r\n")),
    HostileResponse("a body without end", small, "HTTP_RESPONSE_TOO_LARGE", "4096 bytes")(flood(head(""), "a")),
    HostileResponse("empty members without end", small, "HTTP_RESPONSE_TOO_LARGE", "4096 bytes")(
      flood(gzip, chunk(emptyMember * 100))),
    HostileResponse("a member's name without end", small, "HTTP_RESPONSE_TOO_LARGE", "4096 bytes")(
      flood(gzip + chunk("\u001f\u008b\b\b\u0000\u0000\u0000\u0000\u0000\u0003"), chunk("a" * 1000))),
    HostileResponse("empty blocks without end", small, "HTTP_RESPONSE_TOO_LARGE", "4096 bytes")(
      flood(gzip + chunk(begunMember), chunk(emptyBlock * 100))),
    HostileResponse("more members than a body may have", Nil, limit, "more than 1000000 members")(
      flood(gzip, chunk(emptyMember * 100))),
    HostileResponse("a head that trickles", soon, slow, "requestDeadline", once = false)(
      trickle("HTTP/1.1 200 OK\r\nX: ", "a")),
    HostileResponse("responses of 1xx that trickle", soon, slow, "after 400ms", once = false)(
      trickle("", "HTTP/1.1 102 Processing\r\n\r\n", pause = 150)),
    HostileResponse("a body that trickles", soon, slow, "(2 attempts)", once = false)(trickle(head(""), " ")),
    HostileResponse("chunks that trickle", soon, slow, "requestDeadline", once = false)(trickle(chunked, chunk(" "))),
    HostileResponse("gzip that trickles, and never becomes a byte", soon, slow, "requestDeadline", once = false)(
      trickle(gzip + chunk(begunMember), chunk(emptyBlock))),
    HostileResponse("a TLS handshake that trickles", soon, slow, "requestDeadline", once = false, secured = true)(
      trickle("\u0016\u0003\u0003\u0040\u0000\u0002\u0000\u003f\u00fc\u0003\u0003", "a")),
    HostileResponse(
      "a body that is slower than it may be",
      Seq("minBytesPerSecond" -> "1k", "retry.maxAttempts" -> "1"),
      slow,
      "minBytesPerSecond is 1024")(trickle(head(""), " "))
  )
}
