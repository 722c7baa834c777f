package io.epochal.rest.sink

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}

import io.epochal.kit.metric.SumMetric
import io.epochal.rest.http.request.HttpCounts

final class RestSentRowsMetric extends SumMetric("epochalRestSentRows", "rows sent")
final class RestRequestsMetric extends SumMetric("epochalRestRequests", "requests made")
final class RestSentBytesMetric extends SumMetric("epochalRestSentBytes", "bytes sent")
final class RestSentAgainMetric extends SumMetric("epochalRestSentAgain", "requests repeated")

/** What the web interface shows of a write. */
private[rest] object RestTaskMetrics {
  private val sentRows = new RestSentRowsMetric
  private val requests = new RestRequestsMetric
  private val bytes = new RestSentBytesMetric
  private val sentAgain = new RestSentAgainMetric

  val supported: Array[CustomMetric] = Array(sentRows, requests, bytes, sentAgain)

  def values(rows: Long, sentBytes: Long, counts: HttpCounts): Array[CustomTaskMetric] =
    Array(
      sentRows.ofTask(rows),
      requests.ofTask(counts.requests),
      bytes.ofTask(sentBytes),
      sentAgain.ofTask(counts.retries))
}
