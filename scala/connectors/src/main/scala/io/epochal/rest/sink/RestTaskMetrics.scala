package io.epochal.rest.sink

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

import io.epochal.kit.metric.TaskMetric
import io.epochal.rest.http.request.HttpCounts

/** What the web interface shows of a write. Spark makes these classes by name. */
final class RestSentRowsMetric extends CustomSumMetric {
  override def name(): String = RestTaskMetrics.Rows
  override def description(): String = "rows sent"
}

final class RestRequestsMetric extends CustomSumMetric {
  override def name(): String = RestTaskMetrics.Requests
  override def description(): String = "requests made"
}

final class RestSentBytesMetric extends CustomSumMetric {
  override def name(): String = RestTaskMetrics.Bytes
  override def description(): String = "bytes sent"
}

final class RestSentAgainMetric extends CustomSumMetric {
  override def name(): String = RestTaskMetrics.Retries
  override def description(): String = "requests repeated"
}

private[rest] object RestTaskMetrics {
  val Rows = "epochalRestSentRows"
  val Requests = "epochalRestRequests"
  val Bytes = "epochalRestSentBytes"
  val Retries = "epochalRestSentAgain"

  val supported: Array[CustomMetric] =
    Array(new RestSentRowsMetric, new RestRequestsMetric, new RestSentBytesMetric, new RestSentAgainMetric)

  def values(rows: Long, sentBytes: Long, counts: HttpCounts): Array[CustomTaskMetric] =
    Array(
      TaskMetric(Rows, rows),
      TaskMetric(Requests, counts.requests),
      TaskMetric(Bytes, sentBytes),
      TaskMetric(Retries, counts.retries))
}
