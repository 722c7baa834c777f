package io.epochal.rest.http

import java.time.Instant
import java.util.{LinkedHashMap, Locale}

import org.apache.hc.core5.http.HttpResponse
import org.apache.spark.util.AccumulatorV2
import org.slf4j.LoggerFactory

import io.epochal.core.retry.{RetryEvent, RetrySettings}

/** One request to an endpoint.
  *
  * @param target
  *   path and query (RFC 9112, origin form), already encoded
  * @param headers
  *   those of this request only
  * @param unless
  *   validator of a known response: the server replies 304 if it has not changed
  * @param endAfter
  *   number of responses 400, 404 or 416 after which the response counts as one without records, with a [[Refusal]]: the
  *   requested page may be past the end of the list; 0: they are failures
  * @param done
  *   statuses that count as an empty response to this request
  * @param repeatable
  *   whether the server may process it twice: over a kept connection that the server had closed it is repeated at once
  */
final case class HttpCall(
    method: String,
    target: String,
    headers: Seq[(String, String)] = Nil,
    body: Option[HttpBody] = None,
    unless: Option[Validator] = None,
    endAfter: Int = 0,
    done: Set[Int] = Set.empty,
    repeatable: Boolean = true
)

/** @param contentType
  *   as in the header Content-Type
  */
final class HttpBody(val contentType: String, val bytes: Array[Byte])

/** A response 400, 404 or 416 in place of a page that may be past the end of the list.
  *
  * @param body
  *   its beginning, without secrets
  */
final private[epochal] case class Refusal(status: Int, body: String) {

  /** Describes it in a message. */
  override def toString: String = s"status $status${if (body.isEmpty) "" else s" ($body)"}"
}

/** Status and headers of a successful or ignored response.
  *
  * @param notModified
  *   whether the server replied 304 Not Modified
  * @param delimited
  *   whether the body's end is marked by a length, chunks or gzip; otherwise the connection's end marks it, and the
  *   body may be truncated
  * @param refusal
  *   the response, if it is a refusal
  * @param blank
  *   whether the body is blank, and that means no records; a single such response is not believed
  * @param moved
  *   the target of a redirect that is followed
  */
final private[epochal] class ResponseHead(
    response: HttpResponse,
    val notModified: Boolean = false,
    val delimited: Boolean = true,
    val refusal: Option[Refusal] = None,
    val blank: Boolean = false,
    val moved: Option[String] = None) {
  def status: Int = response.getCode

  /** The validator for a later conditional request. */
  def validator: Option[Validator] = if (status == 200) Validator.of(header) else None

  /** The first header of that name, case-insensitive. */
  def header(name: String): Option[String] = Option(response.getFirstHeader(name)).map(_.getValue)

  /** All headers, in the order received. */
  def all: Seq[(String, String)] = response.getHeaders.toSeq.map(header => header.getName -> header.getValue)

  /** All headers of that name, case-insensitive. */
  def headers(name: String): Seq[String] = response.getHeaders(name).toSeq.map(_.getValue)
}

/** The validator of a response, for a conditional request (RFC 9110, section 8.8).
  *
  * @param header
  *   of the conditional request
  */
final private[epochal] case class Validator(header: String, value: String)

private[epochal] object Validator {

  /** The ETag of a response, else its Last-Modified if that is a strong validator: at least one second older than the
    * response (section 8.8.2.2).
    *
    * @param header
    *   looks up a header of the response
    */
  def of(header: String => Option[String]): Option[Validator] =
    header("ETag").filter(_.nonEmpty).map(Validator("If-None-Match", _)).orElse {
      for {
        modified <- header("Last-Modified")
        now = Instant.now()
        since <- HttpDate.parse(modified, now)
        responded <- header("Date").flatMap(HttpDate.parse(_, now))
        if !responded.isBefore(since.plusSeconds(1))
      } yield Validator("If-Modified-Since", modified)
    }

  /** Whether the header makes a request conditional. */
  def isCondition(header: String): Boolean = Own(header.toLowerCase(Locale.ROOT))

  private val Own = Set("if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range")
}

/** The results of the latest responses, reused while the server replies 304 Not Modified. Not thread-safe.
  *
  * @param enabled
  *   if false, nothing is cached
  * @tparam K
  *   identifies a request
  * @tparam A
  *   the result of a response
  */
final private[epochal] class Revalidation[K, A](enabled: Boolean) {

  /** Polling repeats only a few requests. */
  final private val Remembered = 8

  private val responses = new LinkedHashMap[K, (Validator, A)]

  /** The validator for a conditional request. */
  def validator(request: K): Option[Validator] = Option(responses.get(request)).map(_._1)

  /** The cached result of an unchanged response; evaluates `fresh` for any other. */
  def read(request: K, response: ResponseHead)(fresh: => A): A =
    if (response.notModified) responses.get(request)._2
    else {
      val came = fresh
      responses.remove(request)
      if (enabled) response.validator.foreach(validator => responses.put(request, (validator, came)))
      if (responses.size > Remembered) { val _ = responses.remove(responses.keySet.iterator().next()) }
      came
    }
}

/** Sums over requests.
  *
  * @param pages
  *   responses from which tasks have taken records
  * @param malformed
  *   records that do not fit the schema
  */
final private[epochal] case class HttpCounts(
    pages: Long = 0,
    requests: Long = 0,
    retries: Long = 0,
    throttled: Long = 0,
    waitedMillis: Long = 0,
    bytes: Long = 0,
    malformed: Long = 0) {

  def +(more: HttpCounts): HttpCounts = HttpCounts(
    pages + more.pages,
    requests + more.requests,
    retries + more.retries,
    throttled + more.throttled,
    waitedMillis + more.waitedMillis,
    bytes + more.bytes,
    malformed + more.malformed)

  /** The sums by the names that they have in the query progress: those of the fields. */
  def byName: Map[String, Long] = productElementNames.zip(productIterator.collect { case sum: Long => sum }).toMap
}

/** The sums of one query, as an accumulator: tasks' counts reach the driver and the query progress. Thread-safe. */
final private[epochal] class HttpCounters extends AccumulatorV2[HttpCounts, HttpCounts] {
  @transient private lazy val log = LoggerFactory.getLogger(classOf[HttpClient])
  @volatile private var counts = HttpCounts()

  /** Responses in this JVM that an API counts against its limits: all but 304 Not Modified. */
  @volatile private var others = 0L
  def charged: Long = others
  def charge(): Unit = synchronized(others += 1)

  override def add(more: HttpCounts): Unit = synchronized(counts += more)

  /** Counts and logs a failure that is followed by another attempt. */
  def retried(event: RetryEvent, limits: RetrySettings, reason: String): Unit = {
    add(HttpCounts(retries = 1, waitedMillis = event.delay.toMillis))
    val attempt = s"Attempt ${event.failures} of ${limits.maxAttempts}"
    log.warn(s"$attempt failed, the next one follows in ${event.delay.toMillis} ms: $reason")
  }

  override def value: HttpCounts = counts

  override def merge(other: AccumulatorV2[HttpCounts, HttpCounts]): Unit = add(other.value)

  override def isZero: Boolean = counts == HttpCounts()

  override def reset(): Unit = synchronized { counts = HttpCounts() }

  override def copy(): HttpCounters = {
    val same = new HttpCounters
    same.add(value)
    same
  }
}
