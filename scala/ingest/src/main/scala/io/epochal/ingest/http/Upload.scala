package io.epochal.ingest.http

import java.nio.ByteBuffer
import java.nio.charset.Charset
import java.util.concurrent.TimeoutException

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.JsonNodeFactory
import org.eclipse.jetty.http.{HttpException, HttpHeader}
import org.eclipse.jetty.io.Content
import org.eclipse.jetty.server.Request
import org.slf4j.LoggerFactory

import io.epochal.ingest.http.body.{BodyBuffer, BodyFormat, Problem, SplitBody}
import io.epochal.ingest.intake.{Arrival, Listener, Receipt}
import io.epochal.kit.gzip.ContentCoding
import io.epochal.kit.record.TextEncoding

/** One request with records: reads the body without blocking a thread, passes the records to the intake, and responds when they are
  * stored.
  */
final private[http] class Upload(inbound: Inbound, request: Request, reply: Reply, state: HttpState) extends Runnable {
  @volatile private var buffer = state.budget.newBuffer(state.settings.maxRequestBytes)
  private val startNanos = System.nanoTime()
  private var windowStart = startNanos
  private var windowBytes = 0L
  @volatile private var receivedBytes = 0L
  @volatile private var isReading = true
  @volatile private var recordMemory = Option.empty[AutoCloseable]

  /** The response when there is no room for the body, which is read and discarded first: a client that is still sending would find its
    * connection reset instead of the response. A request with a key goes to the journal all the same: it may be a duplicate.
    */
  @volatile var noRoom: Option[Problem] =
    Option.when(!state.intake.hasRoom && !inbound.mayBeKnown)(Upload.full(1))

  /** Whether the client has sent less than `minBytesPerSecond` in the last [[Upload.WindowSeconds]] or more. Called by one thread,
    * every second.
    */
  def isTooSlow(now: Long): Boolean = {
    val seconds = (now - windowStart) / 1000000000L
    isReading && seconds >= Upload.WindowSeconds && {
      val (before, bytes) = (windowBytes, receivedBytes)
      windowStart = now
      windowBytes = bytes
      (bytes - before) / seconds < state.settings.minBytesPerSecond
    }
  }

  /** Memory that the body takes. */
  def bufferedBytes: Int = buffer.length

  /** Since when the client has been sending a body that proves its right to write only at the end; None: it does not. */
  def unprovenSince: Option[Long] =
    Option.when(isReading && noRoom.isEmpty && !state.admission.provesWithoutBody)(startNanos)

  /** Closes the connection and releases the memory; reading then ends with a failure. */
  def abort(): Unit = {
    state.metrics.countRefusal("too_slow")
    isReading = false
    buffer.close()
    request.getConnectionMetaData.getConnection.getEndPoint.close()
  }

  /** Releases the memory of the body. */
  def close(): Unit = {
    buffer.close()
    recordMemory.foreach(_.close())
  }

  /** Reads the received chunks. Jetty calls it again when there are more. */
  override def run(): Unit =
    try read()
    catch {
      case refusal: Problem => refuse(refusal)
      case e: Throwable     => fail(e)
    }

  @scala.annotation.tailrec
  private def read(): Unit = {
    val chunk = request.read()
    if (chunk == null) request.demand(this)
    else if (Content.Chunk.isFailure(chunk)) onFailure(chunk.getFailure)
    else {
      val last = chunk.isLast
      try if (chunk.hasRemaining) receive(chunk.getByteBuffer)
      finally chunk.release(): Unit
      if (last) noRoom.fold(onBody())(refuse) else read()
    }
  }

  private def receive(bytes: ByteBuffer): Unit = {
    receivedBytes += bytes.remaining
    if (receivedBytes > state.settings.maxRequestBytes) noRoom.foreach(throw _)
    if (noRoom.isEmpty)
      try buffer.append(bytes)
      catch {
        case busy: Problem if busy.retryAfterSeconds.nonEmpty =>
          noRoom = Some(busy)
          buffer.close()
          buffer = state.budget.newBuffer(0)
      }
  }

  private def onBody(): Unit = {
    isReading = false
    val complete = System.nanoTime()
    // No idle timeout from here on: the client waits for the journal.
    request.addIdleTimeoutListener((_: TimeoutException) => false)
    state.admission.body(inbound.header, buffer.bytes, buffer.length).foreach(throw _)
    state.clients.proves(request.getConnectionMetaData.getConnection)
    val split = splitBody()
    // Only the records are kept while the journal syncs.
    buffer.close()
    recordMemory = Some(state.budget.charge(split.bytes.length))
    val key = inbound.key(Option.when(split.records == 1)(split.bytes))
    if (split.records == 0) acknowledge(complete, """{"records":0}""")
    else {
      val arrival =
        Arrival(inbound.stream, inbound.remote, state.nowMicros, inbound.headersJson, split.bytes, split.ends, key)
      state.intake
        .accept(arrival)
        .whenCompleteAsync(
          (receipt: Receipt, error: Throwable) => respond(arrival, complete, receipt, error),
          state.executor): Unit
    }
  }

  private def splitBody(): SplitBody =
    if (!inbound.isGzip) splitText(buffer) else from(_.inflate(buffer))(splitText)

  private def splitText(body: BodyBuffer): SplitBody =
    try if (inbound.isPlain(body)) split(body) else from(_.decode(body, inbound.charset))(split)
    catch { case refusal: Problem if isKept(refusal, body) => split(body) }

  /** Whether a text that is not in its charset is kept as it is. */
  private def isKept(refusal: Problem, body: BodyBuffer): Boolean =
    state.settings.keepMalformed && refusal.reason == Problem.Malformed &&
      !TextEncoding.isGzip(body.bytes, body.length)

  private def split(body: BodyBuffer): SplitBody =
    inbound.format.split(body.bytes, body.length, state.settings.records, state.settings.keepMalformed)

  private def from(fill: BodyBuffer => Unit)(read: BodyBuffer => SplitBody): SplitBody =
    Using.resource(state.budget.newBuffer(state.settings.maxRequestBytes)) { next =>
      fill(next)
      read(next)
    }

  private def respond(arrival: Arrival, complete: Long, receipt: Receipt, error: Throwable): Unit =
    try
      receipt match {
        case Receipt.Stored(records) =>
          state.metrics.records.add(records.toLong)
          state.metrics.bytes.add(arrival.bytes.length.toLong)
          acknowledge(complete, s"""{"records":$records}""")
        case Receipt.Duplicate =>
          state.metrics.duplicates.increment()
          acknowledge(complete, s"""{"records":${arrival.records},"duplicate":true}""")
        case Receipt.Full(seconds) => refuse(Upload.full(seconds))
        case Receipt.Failed(reason) =>
          Upload.log.warn("A request was not acknowledged: {}", reason.problem)
          refuse(Problem(503, "not_stored", "the records could not be stored", retryAfterSeconds = Some(1)))
        case null => fail(error)
      }
    catch { case e: Throwable => fail(e) }

  private def acknowledge(complete: Long, body: String): Unit = {
    close()
    state.metrics.countAcknowledgement(System.nanoTime() - complete)
    reply.json(200, body, "Epochal-Run" -> state.intake.run)
  }

  /** The client disconnected, was too slow, or sent invalid HTTP. */
  private def onFailure(failure: Throwable): Unit = failure match {
    case bad: HttpException  => refuse(Problem(bad.getCode, "bad_http", "the body is not HTTP"))
    case _: TimeoutException => refuse(Problem(408, "timeout", "the body did not come"))
    case _                   => refuse(Problem(400, "broken_off", "the request was broken off"))
  }

  private def fail(error: Throwable): Unit = {
    Upload.log.warn("A request failed", error)
    if (!NonFatal(error)) state.fatal(error)
    refuse(Problem(500, "failed", "internal error"))
  }

  private def refuse(refusal: Problem): Unit = {
    isReading = false
    close()
    reply.refuse(refusal)
  }
}

private object Upload {
  private val log = LoggerFactory.getLogger("io.epochal.ingest.http.Upload")

  /** The minimum rate applies to each such period. */
  private val WindowSeconds = 10L

  def full(seconds: Int): Problem =
    Problem(429, Problem.Full, "the journal is full", retryAfterSeconds = Some(math.max(1, seconds)))
}

/** Head of a request with records.
  *
  * @param stream
  *   empty if the path names none
  * @throws Problem
  *   by the constructor, before the body is read
  */
final private[http] class Inbound(val stream: String, request: Request, settings: ListenerSettings) {
  import Inbound._

  val charset: Option[Charset] = header("Content-Type").flatMap(TextEncoding.declared).map { name =>
    TextEncoding.named(name).getOrElse(throw unreadable(s"the charset '${name.take(MaxCharset)}' is not known"))
  }

  val format: BodyFormat = settings.bodyFormat(header("Content-Type"), charset).getOrElse {
    val subject = if (request.getHeaders.contains("Content-Type")) "Content-Type" else "no Content-Type was sent: it"
    throw unreadable(s"$subject is one of ${settings.contentTypes.mkString(", ")}")
  }

  val isGzip: Boolean = ContentCoding
    .of(request.getHeaders.getValuesList("Content-Encoding").asScala.toSeq, "gzip")
    .getOrElse(throw unreadable("Content-Encoding is gzip, or none"))
    .nonEmpty

  if (request.getLength > settings.maxRequestBytes)
    throw Problem.tooLarge(s"the body is larger than ${settings.maxRequestBytes} bytes")

  private val idempotencyKey = Option.when(request.getHeaders.contains(Key)) {
    header(Key)
      .filter(isKey)
      .getOrElse(throw Problem(400, "bad_key", s"$Key is one header of 1 to $MaxKey printable ASCII characters"))
  }

  /** Whether a decompressed body can be split as it is. */
  def isPlain(body: BodyBuffer): Boolean =
    !TextEncoding.isGzip(body.bytes, body.length) &&
      (!format.isText || TextEncoding.of(body.bytes, body.length, charset).isEmpty)

  /** Value of a header; None if it is missing or repeated. */
  def header(name: String): Option[String] = Inbound.header(request, name)

  /** The client's address and port. */
  def remote: String =
    forwardedAddress.getOrElse(Listener.remoteText(request.getConnectionMetaData.getRemoteSocketAddress))

  /** JSON for the column `headers`; null if the request has none of the configured headers. */
  def headersJson: String = {
    val fields = JsonNodeFactory.instance.objectNode()
    settings.headers.foreach { name =>
      val values = request.getHeaders.getValuesList(name)
      if (!values.isEmpty) fields.put(name, String.join(", ", values)): Unit
    }
    if (fields.isEmpty) null else fields.toString
  }

  /** Idempotency key, including the stream: the client's `Idempotency-Key`, else the webhook's delivery id.
    *
    * @param record
    *   the only record of the request; None if there are several
    */
  def key(record: Option[Array[Byte]]): Option[String] =
    idempotencyKey
      .orElse(delivery.flatMap(_(header, record)).filter(isKey))
      .map(key => s"$stream/$key")

  /** Whether the request has an idempotency key, so the journal may have stored it before. */
  def mayBeKnown: Boolean = idempotencyKey.isDefined || delivery.isDefined

  private def unreadable(error: String) = Problem(
    415,
    "media_type",
    error,
    headers = Seq(HttpHeader.ACCEPT.asString -> settings.contentTypes.mkString(", "), "Accept-Encoding" -> "gzip"))

  private def delivery = settings.admission.flatMap(_.delivery)

  /** The client address reported by the nearest proxy. */
  private def forwardedAddress: Option[String] =
    if (!settings.trustForwarded) None
    else
      request.getHeaders
        .getValuesList("X-Forwarded-For")
        .asScala
        .lastOption
        .map(_.split(',').last.trim)
        .filter(text => text.nonEmpty && text.length <= MaxAddress && text.forall(c => c > ' ' && c < 127))
}

private[http] object Inbound {

  def header(request: Request, name: String): Option[String] = {
    val values = request.getHeaders.getValuesList(name)
    Option.when(values.size == 1)(values.get(0))
  }

  private def isKey(text: String): Boolean =
    text.nonEmpty && text.length <= MaxKey && text.forall(c => c > ' ' && c < 127)

  private val Key = "Idempotency-Key"
  private val MaxKey = 255
  private val MaxAddress = 64
  private val MaxCharset = 40
}
