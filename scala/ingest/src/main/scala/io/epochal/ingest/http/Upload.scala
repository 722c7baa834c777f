package io.epochal.ingest.http

import java.util.concurrent.TimeoutException

import scala.util.Using
import scala.util.control.NonFatal

import org.eclipse.jetty.http.HttpException
import org.eclipse.jetty.io.Content
import org.eclipse.jetty.server.Request
import org.slf4j.LoggerFactory

import io.epochal.ingest.http.body.{BodyBuffer, Refusal, Refused, SplitBody}
import io.epochal.ingest.intake.{Arrival, Receipt}

/** One request with records: reads the body without blocking a thread, passes the records to the intake, and responds when they are
  * stored.
  */
final private[http] class Upload(inbound: Inbound, request: Request, reply: Reply, shared: Shared) extends Runnable {
  private val buffer = shared.budget.newBuffer(shared.settings.limits.maxRequestBytes)
  private val startNanos = System.nanoTime()
  @volatile private var isReading = true
  @volatile private var stored = Option.empty[AutoCloseable]

  /** Whether the client has sent less than `minBytesPerSecond` on average. */
  def isTooSlow(now: Long): Boolean = {
    val seconds = (now - startNanos) / 1000000000L
    isReading && seconds >= Upload.GraceSeconds && buffer.length / seconds < shared.settings.limits.minBytesPerSecond
  }

  /** Closes the connection; reading then ends with a failure. */
  def abort(): Unit = {
    shared.metrics.refused("too_slow")
    request.getConnectionMetaData.getConnection.getEndPoint.close()
  }

  /** Releases the memory of the body. */
  def close(): Unit = {
    buffer.close()
    stored.foreach(_.close())
  }

  /** Reads the received chunks. Jetty calls it again when there are more. */
  override def run(): Unit =
    try read()
    catch {
      case refused: Refused => refuse(refused.refusal)
      case NonFatal(e)      => failed(e)
    }

  @scala.annotation.tailrec
  private def read(): Unit = {
    val chunk = request.read()
    if (chunk == null) request.demand(this)
    else if (Content.Chunk.isFailure(chunk)) onFailure(chunk.getFailure)
    else {
      val last = chunk.isLast
      try if (chunk.hasRemaining) buffer.append(chunk.getByteBuffer)
      finally chunk.release(): Unit
      if (last) onBody() else read()
    }
  }

  /** The body is complete. */
  private def onBody(): Unit = {
    isReading = false
    val complete = System.nanoTime()
    // No idle timeout from here on: the client waits for the journal.
    request.addIdleTimeoutListener((_: TimeoutException) => false)
    shared.admission.body(inbound.header, buffer.bytes, buffer.length).foreach(refusal => throw new Refused(refusal))
    val split = splitBody()
    // Only the records are kept while the journal syncs.
    buffer.close()
    stored = Some(shared.budget.charge(split.bytes.length))
    val key = inbound.key(Option.when(split.records == 1)(split.bytes))
    if (split.records == 0) acknowledge(complete, """{"records":0}""")
    else {
      val arrival =
        Arrival(inbound.stream, inbound.remote, shared.nowMicros, inbound.headersJson, split.bytes, split.ends, key)
      shared.intake
        .accept(arrival)
        .whenCompleteAsync(
          (receipt: Receipt, error: Throwable) => respond(arrival, complete, receipt, error),
          shared.executor): Unit
    }
  }

  private def splitBody(): SplitBody = {
    def split(body: BodyBuffer) =
      inbound.format.split(body.bytes, body.length, shared.settings.limits.records, shared.settings.keepMalformed)
    if (!inbound.isGzip) split(buffer)
    else
      Using.resource(shared.budget.newBuffer(shared.settings.limits.maxRequestBytes)) { plain =>
        plain.inflate(buffer)
        split(plain)
      }
  }

  private def respond(arrival: Arrival, complete: Long, receipt: Receipt, error: Throwable): Unit =
    try
      receipt match {
        case Receipt.Stored(records) =>
          shared.metrics.records.add(records.toLong)
          shared.metrics.bytes.add(arrival.bytes.length.toLong)
          acknowledge(complete, s"""{"records":$records}""")
        case Receipt.Duplicate =>
          shared.metrics.duplicates.increment()
          acknowledge(complete, s"""{"records":${arrival.records},"duplicate":true}""")
        case Receipt.Full(seconds) => refuse(Upload.full(seconds))
        case Receipt.Failed(reason) =>
          Upload.log.warn("A request was not acknowledged: {}", reason.problem)
          refuse(Upload.notStored)
        case null => failed(error)
      }
    catch { case NonFatal(e) => failed(e) }

  private def acknowledge(complete: Long, body: String): Unit = {
    close()
    shared.metrics.acknowledged(System.nanoTime() - complete)
    reply.json(200, body)
  }

  /** The client disconnected, was too slow, or sent invalid HTTP. */
  private def onFailure(failure: Throwable): Unit = failure match {
    case bad: HttpException  => refuse(Refusal(bad.getCode, "bad_http", "the body is not HTTP"))
    case _: TimeoutException => refuse(Refusal(408, "timeout", "the body did not come"))
    case _                   => refuse(Refusal(400, "broken_off", "the request was broken off"))
  }

  private def failed(error: Throwable): Unit = {
    Upload.log.warn("A request failed", error)
    refuse(Refusal(500, "failed", "internal error"))
  }

  private def refuse(refusal: Refusal): Unit = {
    isReading = false
    close()
    reply.refuse(refusal)
  }
}

private object Upload {
  private val log = LoggerFactory.getLogger("io.epochal.ingest.http.Upload")

  /** Seconds before the minimum rate applies. */
  private val GraceSeconds = 10L

  def full(seconds: Int): Refusal =
    Refusal(429, Refusal.Full, "the journal is full", retryAfterSeconds = Some(math.max(1, seconds)))

  private val notStored =
    Refusal(503, "not_stored", "the records could not be stored", retryAfterSeconds = Some(1))
}
