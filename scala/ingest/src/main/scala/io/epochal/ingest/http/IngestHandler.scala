package io.epochal.ingest.http

import org.eclipse.jetty.io.Connection
import org.eclipse.jetty.server.{Handler, Request, Response}
import org.eclipse.jetty.util.Callback

import io.epochal.ingest.http.body.{Refusal, Refused}

/** Leads each request to what it is for: the first file to open about what a client may ask. */
final private[http] class IngestHandler(
    shared: Shared,
    slow: SlowClients,
    isLoopback: => Boolean,
    metrics: () => String)
    extends Handler.Abstract {

  override def handle(request: Request, response: Response, callback: Callback): Boolean = {
    val connection: Connection = request.getConnectionMetaData.getConnection
    slow.begins(connection)
    Request.addCompletionListener(request, (_: Throwable) => slow.ends(connection))
    val reply = new Reply(response, callback, shared.counters)
    RequestTarget.of(request.getMethod, String.valueOf(request.getHttpURI.getDecodedPath)) match {
      case RequestTarget.Write(stream) => write(stream, request, reply)
      case RequestTarget.Health        => status(request, reply)(health(reply))
      case RequestTarget.Metrics => status(request, reply)(reply.status(200, metrics(), IngestHandler.MetricsType))
      case RequestTarget.Refused(refusal) => reply.refuse(refusal)
    }
    true
  }

  private def write(stream: String, request: Request, reply: Reply): Unit =
    try {
      shared.admission.head(Inbound.header(request, _)).foreach(refusal => throw new Refused(refusal))
      val inbound = Inbound.of(stream, request, shared.settings)
      // A request with a key may be one that was stored before, which only the journal knows.
      if (!shared.intake.hasRoom && !inbound.mayBeKnown) throw new Refused(Upload.full(1))
      val upload = new Upload(inbound, request, reply, shared)
      slow.watch(upload)
      Request.addCompletionListener(
        request,
        (_: Throwable) => {
          slow.forget(upload)
          upload.close()
        })
      upload.run()
    } catch { case refused: Refused => reply.refuse(refused.refusal) }

  private def status(request: Request, reply: Reply)(answer: => Unit): Unit = {
    val open = isLoopback || shared.settings.openStatus
    val refusal =
      if (open) None
      else if (shared.admission.provesWithoutBody) shared.admission.head(Inbound.header(request, _))
      else Some(Refusal(403, "forbidden", "forbidden"))
    refusal.fold(answer)(reply.refuse)
  }

  private def health(reply: Reply): Unit =
    if (!shared.intake.isOpen)
      reply.status(503, """{"error":"the query has not asked for a batch yet, and records wait for it"}""")
    else if (shared.intake.hasRoom) reply.status(200, """{"status":"ok"}""")
    else reply.status(503, """{"error":"the journal is full"}""")
}

private object IngestHandler {
  private val MetricsType = "text/plain; version=0.0.4; charset=utf-8"
}
