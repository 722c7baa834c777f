package io.epochal.rest.source

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

import io.epochal.kit.metric.TaskMetric
import io.epochal.rest.http.request.HttpCounts

/** What the web interface shows of a scan. Spark makes these classes by name. */
final class RestPagesMetric extends CustomSumMetric {
  override def name(): String = RestMetrics.Pages
  override def description(): String = "pages read"
}

final class RestBytesMetric extends CustomSumMetric {
  override def name(): String = RestMetrics.Bytes
  override def description(): String = "bytes received"
}

final class RestRetriesMetric extends CustomSumMetric {
  override def name(): String = RestMetrics.Retries
  override def description(): String = "requests repeated"
}

final class RestThrottledMetric extends CustomSumMetric {
  override def name(): String = RestMetrics.Throttled
  override def description(): String = "requests refused as too many"
}

final class RestWaitedMetric extends CustomSumMetric {
  override def name(): String = RestMetrics.Waited
  override def description(): String = "milliseconds waited before requests"
}

final class RestMalformedMetric extends CustomSumMetric {
  override def name(): String = RestMetrics.Malformed
  override def description(): String = "records that do not fit the schema"
}

private[rest] object RestMetrics {
  val Pages = "epochalRestPages"
  val Bytes = "epochalRestBytes"
  val Retries = "epochalRestRetries"
  val Throttled = "epochalRestThrottled"
  val Waited = "epochalRestWaitedMillis"
  val Malformed = "epochalRestMalformed"

  val ofScan: Array[CustomMetric] =
    Array(
      new RestPagesMetric,
      new RestBytesMetric,
      new RestRetriesMetric,
      new RestThrottledMetric,
      new RestWaitedMetric,
      new RestMalformedMetric)

  /** Spark asks for them every 100 rows, and looks each of them up: those that are 0, as most are, are left out. */
  def ofTask(pages: Long, counts: HttpCounts, malformed: Long): Array[CustomTaskMetric] =
    Array[CustomTaskMetric](
      TaskMetric(Pages, pages),
      TaskMetric(Bytes, counts.bytes),
      TaskMetric(Retries, counts.retries),
      TaskMetric(Throttled, counts.throttled),
      TaskMetric(Waited, counts.waitedMillis),
      TaskMetric(Malformed, malformed)
    ).filter(_.value > 0)
}
