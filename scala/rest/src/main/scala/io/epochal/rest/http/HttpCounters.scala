package io.epochal.rest.http

import org.apache.spark.util.AccumulatorV2
import org.slf4j.LoggerFactory

import io.epochal.core.retry.{RetryEvent, RetrySettings}

/** The sums of one query, as an accumulator: tasks' counts reach the driver and the query progress. Thread-safe. */
final private[epochal] class HttpCounters extends AccumulatorV2[HttpCounts, HttpCounts] {
  @transient private lazy val log = LoggerFactory.getLogger(classOf[HttpClient])
  @volatile private var counts = HttpCounts()

  /** Responses in this JVM that an API counts against its limits: all but 304 Not Modified. */
  @volatile private var others = 0L
  def chargedRequests: Long = others
  def charge(): Unit = synchronized(others += 1)

  override def add(more: HttpCounts): Unit = synchronized(counts += more)

  /** Counts and logs a failure that is followed by another attempt. */
  def countRetry(event: RetryEvent, limits: RetrySettings, reason: String): Unit = {
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
