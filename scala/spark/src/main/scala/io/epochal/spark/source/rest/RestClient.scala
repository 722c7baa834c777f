package io.epochal.spark.source.rest

import java.io.IOException
import java.time.Instant
import java.util.zip.GZIPInputStream

import com.fasterxml.jackson.core.JsonProcessingException
import org.apache.hc.client5.http.classic.methods.HttpGet
import org.apache.hc.core5.http.{ClassicHttpResponse, HttpException, HttpHost}
import org.slf4j.LoggerFactory

import io.epochal.core.error.Redaction
import io.epochal.core.retry.{Retrier, RetryEvent, Verdict}

/** Asks for pages, with retries. Connections are the JVM's; this object belongs to one stream or one task. */
final private[rest] class RestClient(options: RestOptions, counters: RestCounters) {
  import RestClient._
  import options.endpoint

  private val client = HttpConnections.client(options.timeout)
  private val host = HttpHost.create(endpoint.base)

  /** Asks for a page, in the calling thread; an interrupt ends it soon.
    *
    * @param buffer
    *   what the answer comes into
    * @param first
    *   whether nobody has answered this stream yet: a server that cannot be reached is then given up on after
    *   [[FirstContactAttempts]] attempts
    * @param read
    *   reads the answer as a part of the attempt: when it finds that the body is no JSON, the page is asked for again
    * @throws EpochalException
    *   one of the HTTP conditions
    */
  def get[A](request: PageRequest, buffer: PageBuffer, first: Boolean = false)(read: PageBuffer => A): A = {
    var attempts = 0
    val firstAttempts = if (first) FirstContactAttempts else Int.MaxValue
    def classify(error: Throwable): Verdict = error match {
      case failure: HttpFailure if failure.connected || attempts < firstAttempts => failure.verdict
      case _                                                                     => Verdict.GiveUp
    }
    try
      new Retrier(options.retry, classify, retried).run { failures =>
        attempts = failures + 1
        attempt(request, buffer)
        try read(buffer)
        catch {
          case e: JsonProcessingException => throw HttpFailure.body(endpoint, Json.problem(e))
        }
      }
    catch { case failure: HttpFailure => throw failure.report(attempts) }
  }

  private def retried(event: RetryEvent): Unit = {
    counters.retry(event.delay.toMillis)
    val reason = event.cause match {
      case failure: HttpFailure => failure.report(event.failures).getMessage
      case other                => Redaction.text(other.toString)
    }
    log.warn(s"Trying again in ${event.delay.toMillis} ms: $reason")
  }

  private def attempt(request: PageRequest, buffer: PageBuffer): Unit = {
    val get = new HttpGet(endpoint.base)
    get.setPath(endpoint.target(request.query))
    endpoint.headers.foreach { case (name, value) => get.addHeader(name, value) }
    counters.request()
    HttpConnections.watch(get)
    try {
      val response = client.executeOpen(host, get, null)
      var whole = false
      try whole = receive(response, buffer)
      finally close(get, response, whole)
      if (response.getCode >= 300) throw refused(response, buffer, whole)
      if (!whole) throw HttpFailure.tooLarge(endpoint, options.maxResponseBytes)
    } catch {
      case _: IOException if Thread.currentThread().isInterrupted => throw new InterruptedException
      case e: IOException                                         => throw HttpFailure.of(endpoint, options.timeout, e)
      case e: HttpException => throw HttpFailure.of(endpoint, options.timeout, new IOException(e.getMessage, e))
    } finally HttpConnections.unwatch()
    counters.received(buffer.length.toLong)
  }

  /** @return
    *   whether the answer was read to its end
    */
  private def receive(response: ClassicHttpResponse, buffer: PageBuffer): Boolean = {
    val limit = if (response.getCode >= 300) ErrorBytes else options.maxResponseBytes
    Option(response.getEntity).fold(buffer.clear()) { entity =>
      val in = entity.getContentEncoding match {
        case null | "" | "identity" => entity.getContent
        case "gzip" | "x-gzip"      => new GZIPInputStream(entity.getContent, GzipBuffer)
        case other => throw HttpFailure.body(endpoint, s"it is encoded as '$other', and only gzip was asked for")
      }
      val whole = buffer.readFrom(in, limit)
      if (whole) in.close()
      whole
    }
  }

  /** What was read to its end leaves the connection to the next request; otherwise the rest of the answer is not waited for. */
  private def close(get: HttpGet, response: ClassicHttpResponse, whole: Boolean): Unit = {
    if (!whole) get.cancel()
    try response.close()
    catch { case _: IOException => () }
  }

  private def refused(response: ClassicHttpResponse, buffer: PageBuffer, whole: Boolean): HttpFailure = {
    val retryAfter = Option(response.getFirstHeader("Retry-After")).map(_.getValue)
    if (response.getCode == 429 || retryAfter.isDefined) counters.throttle()
    val detail = Option(response.getFirstHeader("Location")).filter(_ => response.getCode < 400) match {
      case Some(location) => s"redirects are not followed; this one leads to ${Redaction.url(location.getValue)}"
      case None           => buffer.head(200) + (if (whole) "" else "…")
    }
    HttpFailure.status(endpoint, response.getCode, retryAfter, detail, Instant.now())
  }
}

private[rest] object RestClient {
  private val log = LoggerFactory.getLogger(classOf[RestClient])

  /** Attempts that a server gets which cannot be reached when a stream asks for the first time. */
  val FirstContactAttempts = 3

  private val GzipBuffer = 16 << 10
  private val ErrorBytes = 4096L
}
