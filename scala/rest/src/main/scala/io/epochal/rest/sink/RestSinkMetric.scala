package io.epochal.rest.sink

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}

import io.epochal.kit.spark.SumMetric
import io.epochal.rest.http.HttpCounts

/** A metric of a write in the web UI. Spark instantiates them by class name. */
sealed abstract class RestSinkMetric(name: String, doc: String) extends SumMetric(name, doc)

final class RestSentRowsMetric extends RestSinkMetric("epochalRestSentRows", "rows sent")
final class RestRequestsMetric extends RestSinkMetric("epochalRestRequests", "requests made")
final class RestSentBytesMetric extends RestSinkMetric("epochalRestSentBytes", "bytes sent")
final class RestSentAgainMetric extends RestSinkMetric("epochalRestSentAgain", "requests repeated")

private[rest] object RestSinkMetric {
  private val all =
    Array(new RestSentRowsMetric, new RestRequestsMetric, new RestSentBytesMetric, new RestSentAgainMetric)

  def customMetrics: Array[CustomMetric] = all.toArray

  def values(rows: Long, sentBytes: Long, counts: HttpCounts): Array[CustomTaskMetric] =
    all.zip(Array(rows, counts.requests, sentBytes, counts.retries)).map { case (metric, n) => metric.ofTask(n) }
}
