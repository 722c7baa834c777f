package io.epochal.kit.sink

import java.util.concurrent.atomic.AtomicLong

import org.slf4j.LoggerFactory

import io.epochal.core.ledger.EpochAttempt
import io.epochal.kit.metric.LogPace
import io.epochal.kit.sink.transport.Shipment

/** What the sink tells in every query progress (`sink.metrics`): the last epoch, and counts since the query started. */
final private[epochal] class SinkMetrics(format: String) {
  private val log = LoggerFactory.getLogger(classOf[SinkMetrics])
  private val retries = new AtomicLong
  private val repeated = new AtomicLong
  private val differing = new AtomicLong
  private val rows = new AtomicLong
  private val epochs = new AtomicLong
  private val pace = new LogPace
  @volatile private var last: Map[String, String] = Map.empty

  def retried(): Unit = retries.incrementAndGet(): Unit

  def committed(
      sinkId: String,
      attempt: EpochAttempt,
      shipment: Shipment,
      transport: Map[String, String],
      outcome: EpochOutcome): Unit = {
    val epoch = Map(
      "epoch" -> attempt.epoch.toString,
      "generation" -> attempt.generation.toString,
      "rows" -> attempt.digest.rows.toString,
      "badRows" -> shipment.deadLetters.size.toString,
      "bytes" -> shipment.bytes.toString,
      "encodeMs" -> millis(shipment.encodeNanos)) ++ transport
    last = outcome match {
      case EpochOutcome.Applied(load, commit) =>
        rows.addAndGet(attempt.digest.rows): Unit
        epochs.incrementAndGet(): Unit
        epoch ++ Map("outcome" -> "applied", "loadMs" -> millis(load), "commitMs" -> millis(commit))
      case EpochOutcome.Repeated(contentDiffers) =>
        repeated.incrementAndGet(): Unit
        if (contentDiffers) warn(sinkId, attempt)
        epoch + ("outcome" -> "repeated")
    }
    if (pace.isDue())
      log.info(
        s"$format: sink '{}' is at epoch {}: {} rows in {} epochs since the start of the run",
        sinkId,
        attempt.epoch,
        rows.get,
        epochs.get)
  }

  def asMap: Map[String, String] = last ++ Map(
    "retries" -> retries.get.toString,
    "repeatedEpochs" -> repeated.get.toString,
    "differingRepetitions" -> differing.get.toString)

  private def warn(sinkId: String, attempt: EpochAttempt): Unit = {
    differing.incrementAndGet(): Unit
    log.warn(
      s"$format: epoch {} of sink '{}' was replayed from the same offsets with other rows; the rows written first stay. " +
        "The plan is not repeatable: rand(), a UDF, collect_list or the like.",
      attempt.epoch,
      sinkId)
  }

  private def millis(nanos: Long): String = (nanos / 1000000).toString
}
