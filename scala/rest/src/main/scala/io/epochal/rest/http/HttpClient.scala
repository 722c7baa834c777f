package io.epochal.rest.http

import java.io.{IOException, InputStream}
import java.nio.charset.Charset
import java.time.{Duration, Instant}

import scala.util.Using

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.core.exc.StreamConstraintsException
import org.apache.hc.client5.http.classic.methods.HttpUriRequestBase
import org.apache.hc.client5.http.protocol.HttpClientContext
import org.apache.hc.core5.http.io.entity.ByteArrayEntity
import org.apache.hc.core5.http.{
  ClassicHttpResponse,
  ContentType,
  HttpException,
  HttpHeaders => StandardHeaders,
  HttpHost
}
import org.slf4j.LoggerFactory

import io.epochal.core.error.Redaction
import io.epochal.core.retry.{Retrier, RetryEvent, Verdict}
import io.epochal.kit.gzip.{ContentCoding, GzipMembers}
import io.epochal.kit.json.Json
import io.epochal.kit.record.{Body, BodyProblem, TextEncoding}

/** Sends requests with retries, within the query's budget. Connections and the [[HttpGate]] that enforces the budget are
  * shared by the JVM; this object belongs to one stream or task, which closes it. Thread-safe.
  */
final private[epochal] class HttpClient private (settings: HttpSettings, counters: HttpCounters, pool: HttpResources)
    extends AutoCloseable {

  /** @param share
    *   the part of the budget granted by the driver; the driver itself has all of it
    */
  def this(settings: HttpSettings, counters: HttpCounters, share: HttpBudget) =
    this(settings, counters, new HttpResources(settings, counters, share))

  def this(settings: HttpSettings, counters: HttpCounters) = this(settings, counters, settings.budget)

  import HttpClient.log
  import pool.{connections, credentials, gate}
  import settings.endpoint

  /** Attempts for an unreachable server on a stream's first request, unless the user has set a limit. */
  final private val FirstContactAttempts = 3

  private val UnfinishedLine =
    "its last line has no line break, and nothing but the end of the connection says where it ends: it may be cut"

  private val PageExists = "an earlier request found the page, so it is requested once more"

  /** Statuses that servers send for a page past the last one. */
  private val PastEnd = Set(400, 404, 416)

  /** Statuses that redirect a GET. */
  private val Redirects = Set(301, 302, 303)

  final private val MostRedirects = 5

  final private val ErrorBytes = 4096L

  private val host = HttpHost.create(endpoint.base)

  /** A client of another list on the same server, with the connections, credentials and budget of this one: it ends with
    * this one, and need not be closed.
    */
  def at(endpoint: Endpoint): HttpClient = new HttpClient(settings.copy(endpoint = endpoint), counters, pool)

  /** Sends a request in the calling thread; an interrupt aborts it soon.
    *
    * @param buffer
    *   receives the body
    * @param first
    *   whether this stream has had no response yet: an unreachable server is then given up after
    *   three attempts, unless the settings are patient
    * @param read
    *   reads the response as a part of the attempt: if the body is invalid JSON and may be truncated, the request is
    *   retried
    * @throws EpochalException
    *   one of the HTTP conditions
    */
  def call[A](request: HttpCall, buffer: Body, first: Boolean = false)(read: ResponseHead => A): A = {
    var attempts = 0
    var ends = 0
    var blanks = 0
    val firstAttempts = if (first && !settings.patient) FirstContactAttempts else Int.MaxValue
    def classify(error: Throwable): Verdict = error match {
      case failure: HttpFailure if failure.connected || attempts < firstAttempts => failure.verdict
      case _                                                                     => Verdict.GiveUp
    }
    try
      new Retrier(settings.retry, classify, onRetry).run { failures =>
        attempts = failures + 1
        val response = attempt(request, buffer)
        if (response.refusal.isDefined) {
          ends += 1
          if (ends < math.min(request.endAfter, settings.retry.maxAttempts))
            throw HttpFailure.status(endpoint, response.status, Verdict.Retry, false, PageExists, settings.credentials)
        }
        if (response.blank) {
          blanks += 1
          if (blanks < math.min(2, settings.retry.maxAttempts)) throw HttpFailure.noBody(endpoint, response.status)
        }
        if (settings.text.exists(_.byLines) && !response.delimited && !buffer.endsLine)
          throw HttpFailure.body(endpoint, UnfinishedLine, cut = true)
        try {
          settings.rules.filterNot(_ => buffer.absent).foreach(judge(_, response, buffer))
          read(response)
        } catch {
          case e: JsonProcessingException =>
            if (response.delimited && isBlank(buffer)) throw HttpFailure.noBody(endpoint, response.status)
            throw HttpFailure.body(endpoint, describe(e), mayBeCut(response, buffer, e))
        }
      }
    catch { case failure: HttpFailure => throw failure.report(attempts) }
  }

  /** An error that means no records leaves an absent body. */
  private def judge(rules: BodyRules, response: ResponseHead, buffer: Body): Unit = {
    val verdict = rules.judge(buffer)
    verdict.pause.foreach(length => gate.pause(cappedWait(length), settings.retry.initialDelay))
    verdict.error.foreach { text =>
      if (verdict.isEmpty) buffer.markAbsent()
      else throw HttpFailure.inBody(endpoint, response.status, settings.mask(text), verdict.isTransient)
    }
  }

  /** A complete body that is invalid stays invalid. A server may also truncate a body that it ends properly. */
  private def mayBeCut(response: ResponseHead, buffer: Body, error: JsonProcessingException): Boolean = error match {
    case _: StreamConstraintsException => false
    case problem: BodyProblem          => problem.cut || !response.delimited
    case _                             => !response.delimited || buffer.length == 0 || Json.endsEarly(error)
  }

  private def describe(error: JsonProcessingException): String = {
    val problem = Json.problem(error)
    val inDoubt = problem.contains("UTF-8") && settings.text.exists(_.encoding.isEmpty)
    if (inDoubt) s"$problem; {option:encoding=ISO-8859-1} is for text in that charset" else problem
  }

  override def close(): Unit = pool.close()

  private def onRetry(event: RetryEvent): Unit = event.cause match {
    case failure: HttpFailure =>
      if (failure.throttled) gate.pause(event.delay, settings.retry.initialDelay)
      counters.countRetry(event, settings.retry, failure.report(event.failures).problem)
    case other => counters.countRetry(event, settings.retry, Redaction.text(other.toString))
  }

  /** Sends a request; if the server rejects the token, renews it once. */
  private def attempt(call: HttpCall, buffer: Body): ResponseHead = {
    var login = Seq.empty[(String, String)]
    def over(call: HttpCall): ResponseHead = {
      counters.add(HttpCounts(waitedMillis = gate.enter()))
      try {
        login = credentials.flatMap(_.headers)
        exchange(build(call, login), buffer, call)
      } finally gate.leave()
    }
    def once(call: HttpCall): ResponseHead =
      try over(call)
      catch {
        case failure: HttpFailure if failure.stale && call.repeatable =>
          // Others of that server are probably closed as well.
          connections.value.closeIdle()
          counters.add(HttpCounts(retries = 1))
          log.info(s"$endpoint had closed an idle connection: the request is repeated over a new one.")
          over(call)
      }
    @scala.annotation.tailrec
    def follow(call: HttpCall, left: Int): ResponseHead = {
      val response = once(call)
      response.redirectTarget match {
        case None                 => response
        case Some(_) if left == 0 => throw HttpFailure.redirects(endpoint, response.status, MostRedirects)
        case Some(target)         => follow(call.copy(target = target), left - 1)
      }
    }
    try follow(call, MostRedirects)
    catch {
      case failure: HttpFailure
          if failure.challenges.exists(challenge => credentials.map(_.onRejection(login, challenge)).contains(true)) =>
        follow(call, MostRedirects)
    }
  }

  private def exchange(request: HttpUriRequestBase, buffer: Body, call: HttpCall): ResponseHead = {
    counters.add(HttpCounts(requests = 1))
    val watch = RequestWatch.begin(request, settings.limits)
    try {
      val context = HttpClientContext.create()
      val response = connections.value.client.executeOpen(host, request, context)
      var whole = false
      try whole = receive(response, buffer, watch.body(_, context.getEndpointDetails, _))
      finally close(request, response, whole)
      val pause = demandedWait(response)
      pause.foreach(gate.pause(_, settings.retry.initialDelay))
      val code = response.getCode
      val notModified = call.unless.isDefined && code == 304
      if (!notModified) counters.charge()
      val ignored = settings.ignoreStatuses.contains(code) || call.successStatuses(code)
      // An ignored status is no error, yet a page that must exist is requested once more.
      val refusal = Option.when((!ignored || call.endAfter > 1) && isPastEnd(code, call))(
        Refusal(code, HttpFailure.excerpt(detail(request, response, buffer, whole))))
      val location = header(response, "Location")
        .filter(_ => !ignored && keepsMethod(code, call.method))
        .flatMap(endpoint.redirectTarget(call.target, _))
      val absent = notModified || code == 204 || ignored || refusal.isDefined || location.isDefined
      val blank = !absent && code < 300 && whole && settings.mayLackBody && isBlank(buffer) && delimited(response)
      if (absent || blank) buffer.markAbsent()
      else if (code >= 300) throw unsuccessful(request, response, buffer, whole, pause, endpoint.lacking(call.target))
      else if (!whole) throw HttpFailure.tooLarge(endpoint, settings.maxResponseBytes)
      counters.add(HttpCounts(bytes = buffer.length.toLong))
      new ResponseHead(response, notModified, delimited(response), refusal, blank, location)
    } catch {
      // The library reports a request cancelled while it waits for a connection as IllegalStateException.
      case e @ (_: IOException | _: HttpException | _: IllegalStateException) => throw failure(e, watch)
    } finally RequestWatch.end(watch)
  }

  private def failure(error: Throwable, watch: WatchedRequest): Throwable =
    if (Thread.currentThread().isInterrupted) new InterruptedException
    else
      watch.exceededLimit.map(HttpFailure.tooSlow(endpoint, _)).getOrElse {
        error match {
          case e: IOException => HttpFailure.of(endpoint, settings.transport.timeout, e)
          case e: IllegalStateException if !connections.value.isClosed => e
          case e => HttpFailure.of(endpoint, settings.transport.timeout, new IOException(e.getMessage, e))
        }
      }

  /** Whether a body is empty, or has only white space. */
  private def isBlank(buffer: Body): Boolean =
    buffer.file.isEmpty && (0 until buffer.length).forall(i => (buffer.bytes(i) & 0xff) <= ' ')

  /** Whether a redirect of this status is for the same method: 307 and 308 are for every one. */
  private def keepsMethod(status: Int, method: String): Boolean =
    status == 307 || status == 308 || method == "GET" && Redirects(status)

  private def isPastEnd(status: Int, call: HttpCall): Boolean =
    call.endAfter > 0 && PastEnd(status) && !settings.retryStatuses.contains(status)

  private def build(call: HttpCall, credential: Seq[(String, String)]): HttpUriRequestBase = {
    val request = new HttpUriRequestBase(call.method, endpoint.base)
    request.setPath(
      credentials
        .flatMap(_.parameters)
        .foldLeft(call.target)((before, one) =>
          s"$before${if (before.contains('?')) "&" else "?"}${Endpoint.parameter(one)}"))
    endpoint.headers.foreach { case (name, value) => request.addHeader(name, value) }
    call.headers.foreach { case (name, value) => request.setHeader(name, value) }
    call.unless.foreach(validator => request.setHeader(validator.header, validator.value))
    credential.foreach { case (name, value) => request.setHeader(name, value) }
    def headers = request.getHeaders.toSeq.map(header => header.getName -> header.getValue)
    credentials
      .flatMap(_.signature(call, endpoint.base, request.getPath, headers))
      .foreach { case (name, value) => request.setHeader(name, value) }
    call.body.foreach(body => request.setEntity(new ByteArrayEntity(body.bytes, ContentType.parse(body.contentType))))
    request
  }

  /** @param watch
    *   wraps the body, limited to the given number of bytes on the wire
    * @return
    *   whether the response was read to its end
    */
  private def receive(
      response: ClassicHttpResponse,
      buffer: Body,
      watch: (InputStream, Long) => InputStream): Boolean = {
    val failed = response.getCode >= 300
    val limit = if (failed) ErrorBytes else settings.maxResponseBytes
    def read(in: InputStream): Boolean = settings.text
      .filterNot(_ => failed)
      .fold(buffer.readFrom(in, limit))(text => buffer.readText(in, limit, charset(response, text)))
    Option(response.getEntity).fold(buffer.clear()) { entity =>
      def wire = watch(entity.getContent, ResponseLimits.wireBytes(limit))
      coding(response) match {
        case Right(None) =>
          val whole = read(wire)
          if (whole) entity.getContent.close()
          whole
        case Right(Some(name)) =>
          val most = ResponseLimits.compressedBytes(limit)
          Using.resource(if (name == "zstd") new ZstdBody(wire, most) else new GzipMembers(wire, most)) { stream =>
            val whole =
              try read(stream)
              catch { case _: GzipMembers.TooLong => false }
            if (whole) entity.getContent.close()
            whole
          }
        case Left(_) if failed => !buffer.clear()
        case Left(other) =>
          val codings = HttpHeaders.Codings.mkString(" or ")
          throw HttpFailure.body(endpoint, s"it is encoded as '$other', and only $codings was requested", cut = false)
      }
    }
  }

  private def coding(response: ClassicHttpResponse): Either[String, Option[String]] =
    ContentCoding.of(
      response.getHeaders(StandardHeaders.CONTENT_ENCODING).toSeq.map(_.getValue),
      HttpHeaders.Codings: _*)

  private def charset(response: ClassicHttpResponse, text: TextSettings): Option[Charset] = {
    val kind = header(response, StandardHeaders.CONTENT_TYPE)
    text.encoding.orElse(kind.filter(_.indexOf(';') >= 0).flatMap(TextEncoding.declared)).map { name =>
      TextEncoding.named(name).getOrElse {
        val reason =
          s"its Content-Type names the charset '$name', unknown to Java; {option:encoding=UTF-8} is for UTF-8"
        throw HttpFailure.body(endpoint, reason, cut = false)
      }
    }
  }

  private def delimited(response: ClassicHttpResponse): Boolean =
    Option(response.getEntity).forall { entity =>
      entity.getContentLength >= 0 || entity.isChunked || coding(response).exists(_.nonEmpty)
    }

  /** Returns the connection to the pool if the body was read to its end; otherwise cancels instead of draining the rest.
    */
  private def close(request: HttpUriRequestBase, response: ClassicHttpResponse, whole: Boolean): Unit = {
    if (!whole) request.cancel()
    try response.close()
    catch { case _: IOException => () }
  }

  /** The pause that the server demands after this response. If its length cannot be read, the longest delay of a retry. */
  private def demandedWait(response: ClassicHttpResponse): Option[Duration] = {
    val pause =
      if (response.getHeaders.exists(header => Throttle.mayDemand(header.getName)))
        Throttle.of(response.getCode, header(response, _), Instant.now())
      else Pause(None)
    pause.unread.foreach { case (name, text) =>
      if (gate.firstUnread(name))
        log.warn(
          s"$endpoint demands a pause by '$name: ${HttpFailure.excerpt(settings.mask(text))}', which is not a time. " +
            s"The next request waits for ${cappedWait(settings.retry.maxDelay).toMillis} ms, the longest delay of a retry.")
    }
    pause.length.orElse(pause.unread.headOption.map(_ => settings.retry.maxDelay)).map(cappedWait)
  }

  private def header(response: ClassicHttpResponse, name: String): Option[String] =
    Option(response.getFirstHeader(name)).map(_.getValue)

  private def cappedWait(wait: Duration): Duration =
    if (wait.compareTo(settings.maxThrottleWait) > 0) settings.maxThrottleWait else wait

  /** @param pause
    *   the pause that the response demands; some servers then respond with 403
    * @param lacking
    *   parameters of ours that the API left out of the page's address
    */
  private def unsuccessful(
      request: HttpUriRequestBase,
      response: ClassicHttpResponse,
      buffer: Body,
      whole: Boolean,
      pause: Option[Duration],
      lacking: Seq[String]): HttpFailure = {
    val code = response.getCode
    val throttled = code == 429 || Throttle.repeats(header(response, _)) || (code == 403 && pause.isDefined)
    if (throttled) counters.add(HttpCounts(throttled = 1))
    val isRetried = settings.retryStatuses.contains(if (code == 403 && throttled) 429 else code)
    val verdict = if (isRetried) pause.fold[Verdict](Verdict.Retry)(Verdict.RetryAfter(_)) else Verdict.GiveUp
    val text = detail(request, response, buffer, whole)
    val challenges = response.getHeaders(StandardHeaders.WWW_AUTHENTICATE).toSeq.map(_.getValue)
    val advice = settings.credentials.copy(lacking = lacking)
    HttpFailure.status(endpoint, code, verdict, throttled, text, advice, challenges)
  }

  /** The beginning of an unsuccessful response's body, or the target of a redirect, without secrets. */
  private def detail(
      request: HttpUriRequestBase,
      response: ClassicHttpResponse,
      buffer: Body,
      whole: Boolean): String = {
    val text = header(response, "Location").filter(_ => response.getCode < 400) match {
      case Some(location) =>
        val why =
          if (keepsMethod(response.getCode, request.getMethod))
            "redirects to another scheme, host or port are not followed"
          else s"a ${request.getMethod} is not repeated after a redirect of this status"
        s"$why; this one goes to ${Redaction.query(location)}"
      case None => buffer.head(200) + (if (whole) "" else "…")
    }
    val authorization =
      Option(request.getFirstHeader("Authorization")).toSeq.flatMap(h => Endpoint.credential(h.getValue))
    settings.mask(text, authorization)
  }
}

private object HttpClient {
  private val log = LoggerFactory.getLogger(classOf[HttpClient])
}
