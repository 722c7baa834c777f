package io.epochal.rest.source

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}

import io.epochal.kit.metric.SumMetric
import io.epochal.rest.http.request.HttpCounts

final class RestPagesMetric extends SumMetric("epochalRestPages", "pages read")
final class RestBytesMetric extends SumMetric("epochalRestBytes", "bytes received")
final class RestRetriesMetric extends SumMetric("epochalRestRetries", "requests repeated")
final class RestThrottledMetric extends SumMetric("epochalRestThrottled", "requests refused as too many")
final class RestWaitedMetric extends SumMetric("epochalRestWaitedMillis", "milliseconds waited before requests")
final class RestMalformedMetric extends SumMetric("epochalRestMalformed", "records that do not fit the schema")

/** What the web interface shows of a scan. */
private[rest] object RestMetrics {
  private val pages = new RestPagesMetric
  private val bytes = new RestBytesMetric
  private val retries = new RestRetriesMetric
  private val throttled = new RestThrottledMetric
  private val waited = new RestWaitedMetric
  private val malformed = new RestMalformedMetric

  val ofScan: Array[CustomMetric] = Array(pages, bytes, retries, throttled, waited, malformed)

  /** Spark asks for them every 100 rows, and looks each of them up: those that are 0, as most are, are left out. */
  def ofTask(pagesRead: Long, counts: HttpCounts, misfits: Long): Array[CustomTaskMetric] =
    Array(
      pages.ofTask(pagesRead),
      bytes.ofTask(counts.bytes),
      retries.ofTask(counts.retries),
      throttled.ofTask(counts.throttled),
      waited.ofTask(counts.waitedMillis),
      malformed.ofTask(misfits)
    ).filter(_.value > 0)
}
