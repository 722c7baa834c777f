package io.epochal.rest.sink

import io.epochal.kit.sink.SinkGauges
import io.epochal.rest.http.HttpCounters

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
  def onBegin(before: Boolean): Unit = if (before) gauges.replayed()

  def onCommit(epoch: String, messages: Seq[RestTaskMessage]): Unit = synchronized {
    messages.foreach(message => counters.add(message.counts))
    sentBytes += messages.map(_.sentBytes).sum
    val (rows, refusals) = (messages.map(_.rows).sum, messages.map(_.refusedRows.length.toLong).sum)
    badRows += refusals
    last = Map("epoch" -> epoch, "rows" -> rows.toString)
    epoch.toLongOption.foreach(gauges.written(_, rows - refusals, refusals))
  }

  def asMap: Map[String, String] = synchronized {
    val counts = since ++ Map("badRows" -> badRows, "repeatedEpochs" -> gauges.repeatedEpochs)
    last ++ counts.map { case (name, n) => name -> n.toString }
  }

  private def since: Map[String, Long] = synchronized {
    counters.value.byName -- Seq("pages", "bytes", "malformed") + ("sentBytes" -> sentBytes)
  }
}
