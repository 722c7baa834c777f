package io.epochal.rest.http

import java.io.InputStream
import java.time.Duration
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import org.apache.hc.core5.concurrent.Cancellable
import org.apache.hc.core5.http.HttpConnectionMetrics
import org.slf4j.LoggerFactory

import io.epochal.core.option.OptionType
import io.epochal.core.thread.DaemonThreads

/** Time limits of a request, from requesting a connection to the last byte of the response.
  *
  * @param minBytesPerSecond
  *   minimum rate of a body, on average over [[RequestLimits.Window]]
  */
final case class RequestLimits(deadline: Duration, minBytesPerSecond: Option[Long] = None)

object RequestLimits {

  /** Averaging window of the rate, beginning with a body's first byte. */
  val Window: Duration = Duration.ofSeconds(10)

  private val Shortest = Duration.ofMinutes(10)
  private val Longest = Duration.ofDays(365)
  private val BytesPerSecond = 1L << 20

  /** @param deadline
    *   None: ten minutes, or a second per MiB of `maxResponseBytes` if longer
    */
  def of(deadline: Option[Duration], minBytesPerSecond: Option[Long], maxResponseBytes: Long): RequestLimits = {
    val minimum = Duration.ofSeconds(maxResponseBytes / BytesPerSecond)
    val longest = deadline.getOrElse(if (minimum.compareTo(Shortest) > 0) minimum else Shortest)
    RequestLimits(if (longest.compareTo(Longest) > 0) Longest else longest, minBytesPerSecond)
  }
}

/** A running request of the thread that created this object. The watch cancels it when that thread is interrupted or a
  * limit is exceeded.
  *
  * @param begin
  *   as of `System.nanoTime`
  */
final private[http] class WatchedRequest(request: Cancellable, limits: RequestLimits, begin: Long) {
  final private val NoBody = -1L

  private val thread = Thread.currentThread()
  private val deadline = begin + limits.deadline.toNanos

  // Written by the requesting thread, read by the watch.
  @volatile private var lastBytes = NoBody
  @volatile private var reason = Option.empty[String]

  // Used only by the watch.
  private var windowBegin = 0L
  private var windowReceived = NoBody

  /** The exceeded limit, if that is why the request was cancelled. */
  def exceededLimit: Option[String] = reason

  /** A response's body, counted as it arrives.
    *
    * @param wire
    *   counts the bytes on the connection
    * @param maxWire
    *   maximum number of those bytes
    */
  def body(in: InputStream, wire: HttpConnectionMetrics, maxWire: Long): InputStream = new InputStream {
    private val before = wire.getReceivedBytesCount
    lastBytes = 0L

    override def read(into: Array[Byte], offset: Int, count: Int): Int = {
      val length = in.read(into, offset, count)
      lastBytes = wire.getReceivedBytesCount - before
      if (lastBytes > maxWire)
        throw new ResponseLimitException(s"its body and what stands around its chunks are more than $maxWire bytes")
      length
    }

    override def read(): Int = throw new UnsupportedOperationException // Bodies are read in blocks.
    override def close(): Unit = in.close()
  }

  /** Cancels the request if it exceeds a limit or its thread is interrupted.
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

  private def tooSlow(now: Long, minimum: Long): Option[String] = {
    val bytes = lastBytes
    if (bytes == NoBody) None
    else if (windowReceived == NoBody) {
      begins(now, bytes)
      None
    } else if (now - windowBegin < RequestLimits.Window.toNanos) None
    else {
      val rate = ((bytes - windowReceived) * 1e9 / (now - windowBegin)).toLong
      begins(now, bytes)
      Option.when(rate < minimum)(
        s"$rate bytes per second came over ${RequestLimits.Window.toSeconds} s (minBytesPerSecond is $minimum)")
    }
  }

  private def begins(now: Long, bytes: Long): Unit = {
    windowBegin = now
    windowReceived = bytes
  }
}

/** Watches all requests of the JVM in one thread, because socket reads notice neither interrupts nor deadlines. */
private[http] object RequestWatch {
  private val log = LoggerFactory.getLogger("io.epochal.rest.http.RequestWatch")

  /** Maximum delay until an interrupt or an exceeded limit is noticed. */
  private val CheckMillis = 50L

  private lazy val watchThread = {
    val requests = ConcurrentHashMap.newKeySet[WatchedRequest]
    new DaemonThreads("epochal-rest-watch").newThread(() => watch(requests)).start()
    requests
  }

  /** Watches a request that the calling thread is about to send; [[end]] must follow. */
  def begin(request: Cancellable, limits: RequestLimits): WatchedRequest = {
    val one = new WatchedRequest(request, limits, System.nanoTime())
    watchThread.add(one): Unit
    one
  }

  def end(request: WatchedRequest): Unit = watchThread.remove(request): Unit

  private def watch(requests: java.util.Set[WatchedRequest]): Unit =
    while (true)
      try {
        Thread.sleep(CheckMillis)
        val now = System.nanoTime()
        requests.forEach { request =>
          try request.check(now)
          catch { case NonFatal(e) => log.debug("A request could not be broken off", e) }
        }
        // No request has a limit without this thread.
      } catch { case e: Throwable => log.warn("Requests could not be checked", e) }
}
