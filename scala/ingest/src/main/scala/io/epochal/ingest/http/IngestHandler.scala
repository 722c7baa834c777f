package io.epochal.ingest.http

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale

import org.eclipse.jetty.http.{HttpFields, HttpHeader, HttpStatus}
import org.eclipse.jetty.io.Connection
import org.eclipse.jetty.server.{Handler, Request, Response}
import org.eclipse.jetty.util.Callback

import io.epochal.ingest.http.body.Problem

/** Routes requests to upload, health and metrics. */
final private[http] class IngestHandler(state: HttpState, isLoopback: Boolean, metrics: () => String)
    extends Handler.Abstract {
  private val MetricsType = "text/plain; version=0.0.4; charset=utf-8"
  private val MaxName = 128
  private val clients = state.clients
  private val Stream = s"[A-Za-z0-9._~-]{0,$MaxName}".r

  override def handle(request: Request, response: Response, callback: Callback): Boolean = {
    val connection: Connection = request.getConnectionMetaData.getConnection
    clients.begins(connection)
    Request.addCompletionListener(request, (_: Throwable) => clients.ends(connection))
    val reply = new Reply(response, callback, state.metrics)
    val method = request.getMethod.toUpperCase(Locale.ROOT)
    def allowing(methods: String*)(answer: => Unit): Unit = if (methods.contains(method)) answer
    else {
      val all = methods.mkString(", ")
      reply.refuse(Problem(405, "method", s"the methods are $all", headers = Seq("Allow" -> all)))
    }
    String.valueOf(request.getHttpURI.getDecodedPath).stripPrefix("/") match {
      case "health"  => allowing("GET", "HEAD")(status(request, reply)(health(reply)))
      case "metrics" => allowing("GET", "HEAD")(status(request, reply)(reply.status(200, metrics(), MetricsType)))
      case stream @ Stream() => allowing("POST", "PUT")(write(stream, request, reply))
      case _ =>
        val error = s"the path is / or /{stream}, a name of up to $MaxName letters, digits and -._~"
        reply.refuse(Problem(404, "not_found", error))
    }
    true
  }

  private def write(stream: String, request: Request, reply: Reply): Unit =
    try {
      state.admission.head(Inbound.header(request, _)).foreach(throw _)
      if (state.admission.provesWithoutBody) clients.proves(request.getConnectionMetaData.getConnection)
      val inbound = new Inbound(stream, request, state.settings)
      val upload = new Upload(inbound, request, reply, state)
      // The client sends the body only if it gets no refusal.
      if (request.getHeaders.contains(HttpHeader.EXPECT)) upload.noRoom.foreach(throw _)
      clients.watch(upload)
      Request.addCompletionListener(
        request,
        (_: Throwable) => {
          clients.forget(upload)
          upload.close()
        })
      upload.run()
    } catch { case refusal: Problem => reply.refuse(refusal) }

  private def status(request: Request, reply: Reply)(answer: => Unit): Unit = {
    val refusal =
      if (isLoopback || state.settings.openStatus) None
      else if (state.admission.provesWithoutBody) state.admission.head(Inbound.header(request, _))
      else Some(Problem(403, "forbidden", "forbidden"))
    refusal.fold(answer)(reply.refuse)
  }

  private def health(reply: Reply): Unit =
    if (state.intake.hasRoom) reply.status(200, """{"status":"ok"}""")
    else reply.status(503, """{"error":"the journal is full"}""")
}

/** The response to one request, sent at most once. */
final private[http] class Reply(response: Response, callback: Callback, metrics: HttpMetrics) {
  final private val Json = "application/json"

  def json(status: Int, body: String, headers: (String, String)*): Unit = {
    metrics.countResponse(status)
    headers.foreach { case (name, value) => response.getHeaders.put(name, value) }
    send(status, Json, body.getBytes(UTF_8))
  }

  /** Responds to `/health` and `/metrics`. Not counted: only requests with records are. */
  def status(status: Int, body: String, contentType: String = Json): Unit =
    send(status, contentType, body.getBytes(UTF_8))

  def refuse(cause: Problem): Unit = {
    // While the listener is being closed, a correct request may look broken off.
    val refusal = if (metrics.isStopping) Reply.Stopping else cause
    metrics.countResponse(refusal.status)
    metrics.countRefusal(refusal.reason)
    // Unread bytes of the body would precede the next request, so the connection is closed.
    if (!response.getRequest.consumeAvailable()) response.getHeaders.put(HttpFields.CONNECTION_CLOSE): Unit
    refusal.retryAfterSeconds.foreach(seconds => response.getHeaders.put(HttpHeader.RETRY_AFTER, seconds.toLong))
    refusal.headers.foreach { case (name, value) => response.getHeaders.put(name, value) }
    send(refusal.status, Json, refusal.json)
  }

  private def send(status: Int, contentType: String, body: Array[Byte]): Unit = {
    response.setStatus(status)
    response.getHeaders.put(HttpHeader.CONTENT_TYPE, contentType): Unit
    response.getHeaders.put(HttpHeader.CONTENT_LENGTH, body.length.toLong): Unit
    response.write(true, ByteBuffer.wrap(body), callback)
  }
}

private object Reply {
  private val Stopping = Problem(503, "stopping", "the query is stopping", retryAfterSeconds = Some(1))
}

/** Responds to requests that Jetty itself refuses: invalid heads and chunks. Does not echo any part of the request. */
final private[http] class BadRequests(metrics: HttpMetrics) extends Request.Handler {

  override def handle(request: Request, response: Response, callback: Callback): Boolean = {
    // Set by Jetty. Its request attribute cannot be used instead: its name differs in our jar, where Jetty's packages are relocated.
    val status =
      if (response.getStatus >= HttpStatus.BAD_REQUEST_400) response.getStatus else HttpStatus.BAD_REQUEST_400
    new Reply(response, callback, metrics).refuse(
      Problem(status, "bad_http", Option(HttpStatus.getMessage(status)).getOrElse("bad request")))
    true
  }
}
