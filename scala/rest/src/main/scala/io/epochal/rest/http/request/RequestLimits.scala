package io.epochal.rest.http.request

import java.io.{IOException, InputStream}
import java.time.Duration
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import org.apache.hc.core5.concurrent.Cancellable
import org.apache.hc.core5.http.config.Http1Config
import org.apache.hc.core5.http.impl.io.DefaultHttpResponseParser
import org.apache.hc.core5.http.io.{HttpMessageParser, HttpMessageParserFactory, SessionInputBuffer}
import org.apache.hc.core5.http.message.LazyLaxLineParser
import org.apache.hc.core5.http.{
  ClassicHttpResponse,
  HttpConnectionMetrics,
  MessageConstraintException,
  ProtocolException
}
import org.slf4j.LoggerFactory

import io.epochal.core.option.OptionType
import io.epochal.core.thread.DaemonThreads

/** How long a request may take in all, from asking for a connection to the last byte of the response.
  *
  * @param minBytesPerSecond
  *   what must come of a body, on average over [[RequestLimits.Window]]
  */
final case class RequestLimits(deadline: Duration, minBytesPerSecond: Option[Long] = None)

object RequestLimits {

  /** Over which a rate is measured, from the first byte of a body on. */
  val Window: Duration = Duration.ofSeconds(10)

  private val Shortest = Duration.ofMinutes(10)
  private val Longest = Duration.ofDays(365)
  private val BytesPerSecond = 1L << 20

  /** @param deadline
    *   None: ten minutes, or a second for each MiB of the largest response where that is longer
    */
  def of(deadline: Option[Duration], minBytesPerSecond: Option[Long], maxResponseBytes: Long): RequestLimits = {
    val derived = Duration.ofSeconds(maxResponseBytes / BytesPerSecond)
    val longest = deadline.getOrElse(if (derived.compareTo(Shortest) > 0) derived else Shortest)
    RequestLimits(if (longest.compareTo(Longest) > 0) Longest else longest, minBytesPerSecond)
  }
}

/** A request that is under way in the thread that made this. The watch breaks it off when that thread is interrupted, and
  * when it exceeds its limits.
  *
  * @param begin
  *   as of `System.nanoTime`
  */
final private[http] class WatchedRequest(request: Cancellable, limits: RequestLimits, begin: Long) {
  private val thread = Thread.currentThread()
  private val deadline = begin + limits.deadline.toNanos

  // Written by the thread, read by the watch.
  @volatile private var received = WatchedRequest.NoBody
  @volatile private var reason = Option.empty[String]

  // The watch's own.
  private var windowBegin = 0L
  private var windowReceived = WatchedRequest.NoBody

  /** Why it was broken off, where it exceeded a limit. */
  def exceeded: Option[String] = reason

  /** A response's body as it comes.
    *
    * @param wire
    *   counts what comes over the connection
    * @param maxWire
    *   the most bytes that may come
    */
  def body(in: InputStream, wire: HttpConnectionMetrics, maxWire: Long): InputStream = new InputStream {
    private val before = wire.getReceivedBytesCount
    received = 0L

    override def read(into: Array[Byte], offset: Int, count: Int): Int = {
      val length = in.read(into, offset, count)
      received = wire.getReceivedBytesCount - before
      if (received > maxWire)
        throw new ResponseLimitException(s"its body and what stands around its chunks are more than $maxWire bytes")
      length
    }

    override def read(): Int = throw new UnsupportedOperationException // Bodies are read in blocks.
    override def close(): Unit = in.close()
  }

  /** Breaks it off where it must end.
    *
    * @param now
    *   as of `System.nanoTime`
    */
  def check(now: Long): Unit = {
    if (reason.isEmpty) reason = verdict(now)
    if (reason.nonEmpty || thread.isInterrupted) request.cancel(): Unit
  }

  private def verdict(now: Long): Option[String] =
    if (now - deadline >= 0)
      Some(s"it was not over after ${OptionType.duration.render(limits.deadline)} (requestDeadline)")
    else limits.minBytesPerSecond.flatMap(tooSlow(now, _))

  private def tooSlow(now: Long, least: Long): Option[String] = {
    val bytes = received
    if (bytes == WatchedRequest.NoBody) None
    else if (windowReceived == WatchedRequest.NoBody) {
      begins(now, bytes)
      None
    } else if (now - windowBegin < RequestLimits.Window.toNanos) None
    else {
      val rate = ((bytes - windowReceived) * 1e9 / (now - windowBegin)).toLong
      begins(now, bytes)
      Option.when(rate < least)(
        s"$rate bytes per second came over ${RequestLimits.Window.toSeconds} s (minBytesPerSecond is $least)")
    }
  }

  private def begins(now: Long, bytes: Long): Unit = {
    windowBegin = now
    windowReceived = bytes
  }
}

private[http] object WatchedRequest {
  private val NoBody = -1L
}

/** Watches all requests of the JVM, in one thread: reading from a socket notices neither interrupts nor deadlines by itself. */
private[http] object RequestWatch {
  private val log = LoggerFactory.getLogger("io.epochal.rest.http.request.RequestWatch")

  /** How soon an interrupt, or a limit that is exceeded, is noticed. */
  private val CheckMillis = 50L

  private lazy val watched = {
    val requests = ConcurrentHashMap.newKeySet[WatchedRequest]
    new DaemonThreads("epochal-rest-watch").newThread(() => watch(requests)).start()
    requests
  }

  /** The watch over a request that the calling thread is about to make; [[end]] must follow. */
  def begin(request: Cancellable, limits: RequestLimits): WatchedRequest = {
    val one = new WatchedRequest(request, limits, System.nanoTime())
    watched.add(one): Unit
    one
  }

  def end(request: WatchedRequest): Unit = watched.remove(request): Unit

  private def watch(requests: java.util.Set[WatchedRequest]): Unit =
    while (true) {
      Thread.sleep(CheckMillis)
      val now = System.nanoTime()
      requests.forEach(request =>
        try request.check(now)
        catch { case NonFatal(e) => log.debug("A request could not be broken off", e) })
    }
}

/** A response has more of something than any sound server sends. Another attempt would bring the same.
  *
  * @param reason
  *   what it has too much of, and the limit
  */
final private[http] class ResponseLimitException(val reason: String) extends IOException(reason)

/** What a response may have before and around its body, so that no server can take memory or time without end by it. The size
  * of the body is `maxResponseBytes`; the time is [[RequestLimits]].
  */
private[http] object ResponseLimits {

  /** Of a line in the head, in a chunk's head, and in the trailers; without its end. */
  val MaxLineBytes: Int = (64 << 10) - 1
  val MaxHeaders = 200
  val MaxEmptyLines = 9

  /** Responses of 1xx before the one that counts. */
  val MaxInterim = 20

  def config(bufferSize: Int): Http1Config = Http1Config
    .custom()
    .setBufferSize(bufferSize)
    .setMaxLineLength(MaxLineBytes + 1)
    .setMaxHeaderCount(MaxHeaders + 1)
    .setMaxEmptyLineCount(MaxEmptyLines + 1)
    .build()

  /** Makes a parser for each connection. */
  def parsers(config: Http1Config): HttpMessageParserFactory[ClassicHttpResponse] =
    new HttpMessageParserFactory[ClassicHttpResponse] {
      override def create(ignored: Http1Config): HttpMessageParser[ClassicHttpResponse] = new HeadParser(config)
      override def create(): HttpMessageParser[ClassicHttpResponse] = new HeadParser(config)
    }

  /** The limit that the client's library found exceeded; it says so by its message alone. */
  def reason(error: MessageConstraintException): String = String.valueOf(error.getMessage) match {
    case text if text.contains("line length")  => s"a line of its head or chunks has more than $MaxLineBytes bytes"
    case text if text.contains("header count") => s"it has more than $MaxHeaders headers"
    case text if text.contains("empty line")   => s"it begins with more than $MaxEmptyLines empty lines"
    case text                                  => text
  }

  /** What may come over the wire for a body of at most `bytes`: its chunks may be as small as they can be. */
  def wireBytes(bytes: Long): Long = bytes * 8 + (1L << 20)

  /** What a compressed body may have that has at most `bytes` when it is decompressed. */
  def compressedBytes(bytes: Long): Long = bytes * 2 + (64L << 10)

  final private class HeadParser(config: Http1Config)
      extends DefaultHttpResponseParser(config, LazyLaxLineParser.INSTANCE, null) {
    private var interim = 0

    override def parse(buffer: SessionInputBuffer, in: InputStream): ClassicHttpResponse = {
      val response =
        try super.parse(buffer, in)
        catch { case e: IllegalArgumentException => throw new ProtocolException(e.getMessage, e) } // HTTP/-1.1
      interim = if (response != null && response.getCode < 200) interim + 1 else 0
      if (interim > MaxInterim)
        throw new ResponseLimitException(s"more than $MaxInterim responses of 1xx come before it")
      response
    }
  }
}
