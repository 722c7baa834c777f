package io.epochal.rest.sink

import io.epochal.rest.http.request.HttpCounters

/** What the sink tells in every query progress (`sink.metrics`): the last epoch, and sums since the query started. */
final private[rest] class RestSinkMetrics {
  private val counters = new HttpCounters
  private var sentBytes = 0L
  private var badRows = 0L
  private var repeatedEpochs = 0L
  private var last: Map[String, String] = Map.empty

  /** @param before
    *   whether the epoch was begun before
    */
  def begun(before: Boolean): Unit = synchronized(if (before) repeatedEpochs += 1)

  def committed(epoch: String, messages: Seq[RestTaskMessage]): Unit = synchronized {
    messages.foreach(message => counters.add(message.counts))
    sentBytes += messages.map(_.sentBytes).sum
    badRows += messages.map(_.refused.length.toLong).sum
    last = Map("epoch" -> epoch, "rows" -> messages.map(_.rows).sum.toString)
  }

  def asMap: Map[String, String] = synchronized {
    val counts = counters.value
    last ++ Map(
      "requests" -> counts.requests,
      "retries" -> counts.retries,
      "throttled" -> counts.throttled,
      "waitedMillis" -> counts.waitedMillis,
      "sentBytes" -> sentBytes,
      "badRows" -> badRows,
      "repeatedEpochs" -> repeatedEpochs
    ).map { case (name, n) => name -> n.toString }
  }
}
