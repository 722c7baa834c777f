package io.epochal.ingest.http

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import org.eclipse.jetty.http.{HttpFields, HttpHeader, HttpStatus}
import org.eclipse.jetty.server.{Request, Response}
import org.eclipse.jetty.util.Callback

import io.epochal.ingest.http.body.Refusal

/** The response to one request, sent at most once. */
final private[http] class Reply(response: Response, callback: Callback, metrics: HttpMetrics) {

  def json(status: Int, body: String): Unit = {
    metrics.answered(status)
    send(status, Reply.Json, body.getBytes(UTF_8))
  }

  /** Responds to `/health` and `/metrics`. Not counted: only requests with records are. */
  def status(status: Int, body: String, contentType: String = Reply.Json): Unit =
    send(status, contentType, body.getBytes(UTF_8))

  def refuse(refusal: Refusal): Unit = {
    metrics.answered(refusal.status)
    metrics.refused(refusal.reason)
    // Unread bytes of the body would precede the next request, so the connection is closed.
    if (!response.getRequest.consumeAvailable()) response.getHeaders.put(HttpFields.CONNECTION_CLOSE): Unit
    refusal.retryAfterSeconds.foreach(seconds => response.getHeaders.put(HttpHeader.RETRY_AFTER, seconds.toLong))
    refusal.headers.foreach { case (name, value) => response.getHeaders.put(name, value) }
    send(refusal.status, Reply.Json, refusal.json)
  }

  private def send(status: Int, contentType: String, body: Array[Byte]): Unit = {
    response.setStatus(status)
    response.getHeaders.put(HttpHeader.CONTENT_TYPE, contentType): Unit
    response.getHeaders.put(HttpHeader.CONTENT_LENGTH, body.length.toLong): Unit
    response.write(true, ByteBuffer.wrap(body), callback)
  }
}

private object Reply {
  private val Json = "application/json"
}

/** Responds to requests that Jetty itself refuses: invalid heads and chunks. Does not echo any part of the request. */
final private[http] class BadRequests(metrics: HttpMetrics) extends Request.Handler {

  override def handle(request: Request, response: Response, callback: Callback): Boolean = {
    // Set by Jetty. Its request attribute cannot be used instead: its name differs in our jar, where Jetty's packages are relocated.
    val status =
      if (response.getStatus >= HttpStatus.BAD_REQUEST_400) response.getStatus else HttpStatus.BAD_REQUEST_400
    new Reply(response, callback, metrics).refuse(
      Refusal(status, "bad_http", Option(HttpStatus.getMessage(status)).getOrElse("bad request")))
    true
  }
}
