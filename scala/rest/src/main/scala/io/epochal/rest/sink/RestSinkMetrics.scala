package io.epochal.rest.sink

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}

import io.epochal.kit.sink.SinkGauges
import io.epochal.kit.spark.SumMetric
import io.epochal.rest.http.request.{HttpCounters, HttpCounts}

/** The sink's metrics in every query progress (`sink.metrics`): the last epoch, and sums since the query started. */
final private[rest] class RestSinkMetrics {
  private val counters = new HttpCounters
  private var sentBytes = 0L
  private var badRows = 0L
  private val gauges = new SinkGauges(since.map { case (name, n) => name -> n.toDouble })
  private var last: Map[String, String] = Map.empty

  /** Registers the gauges in Spark's metrics system; called in every epoch. */
  def show(sink: String): Unit = gauges.show(sink)

  /** @param before
    *   whether the epoch had begun before
    */
  def begun(before: Boolean): Unit = if (before) gauges.replayed()

  def committed(epoch: String, messages: Seq[RestTaskMessage]): Unit = synchronized {
    messages.foreach(message => counters.add(message.counts))
    sentBytes += messages.map(_.sentBytes).sum
    val (rows, refused) = (messages.map(_.rows).sum, messages.map(_.refused.length.toLong).sum)
    badRows += refused
    last = Map("epoch" -> epoch, "rows" -> rows.toString)
    epoch.toLongOption.foreach(gauges.written(_, rows - refused, refused))
  }

  def asMap: Map[String, String] = synchronized {
    val counts = since ++ Map("badRows" -> badRows, "repeatedEpochs" -> gauges.repeatedEpochs)
    last ++ counts.map { case (name, n) => name -> n.toString }
  }

  private def since: Map[String, Long] = synchronized {
    val counts = counters.value
    Map(
      "requests" -> counts.requests,
      "retries" -> counts.retries,
      "throttled" -> counts.throttled,
      "waitedMillis" -> counts.waitedMillis,
      "sentBytes" -> sentBytes)
  }
}

final class RestSentRowsMetric extends SumMetric("epochalRestSentRows", "rows sent")
final class RestRequestsMetric extends SumMetric("epochalRestRequests", "requests made")
final class RestSentBytesMetric extends SumMetric("epochalRestSentBytes", "bytes sent")
final class RestSentAgainMetric extends SumMetric("epochalRestSentAgain", "requests repeated")

/** The metrics of a write in the web UI. */
private[rest] object RestTaskMetrics {
  private val all =
    Array(new RestSentRowsMetric, new RestRequestsMetric, new RestSentBytesMetric, new RestSentAgainMetric)

  def supported: Array[CustomMetric] = all.toArray

  def values(rows: Long, sentBytes: Long, counts: HttpCounts): Array[CustomTaskMetric] =
    all.zip(Array(rows, counts.requests, sentBytes, counts.retries)).map { case (metric, n) => metric.ofTask(n) }
}
