package io.epochal.rest.http

import org.apache.spark.util.AccumulatorV2
import org.slf4j.LoggerFactory

import io.epochal.core.retry.{RetryEvent, RetrySettings}

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
  @volatile private var counts = HttpCounts()

  override def add(more: HttpCounts): Unit = synchronized(counts += more)

  /** Counts and logs a failure that is followed by another attempt. */
  def retried(event: RetryEvent, limits: RetrySettings, reason: String): Unit = {
    add(HttpCounts(retries = 1, waitedMillis = event.delay.toMillis))
    val attempt = s"Attempt ${event.failures} of ${limits.maxAttempts}"
    HttpCounters.log.warn(s"$attempt failed, the next one follows in ${event.delay.toMillis} ms: $reason")
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

private object HttpCounters {
  private val log = LoggerFactory.getLogger(classOf[HttpClient])
}
