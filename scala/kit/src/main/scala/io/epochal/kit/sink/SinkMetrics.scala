package io.epochal.kit.sink

import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}

import org.slf4j.LoggerFactory

import io.epochal.core.ledger.EpochAttempt
import io.epochal.kit.sink.flush.FlushMessage
import io.epochal.kit.sink.transport.Shipment
import io.epochal.kit.spark.{LogPace, QueryMetrics}

/** The sink's part of every query progress (`sink.metrics`): the last epoch, and counts since the query started. */
final private[epochal] class SinkMetrics(format: String) {
  private val log = LoggerFactory.getLogger(classOf[SinkMetrics])
  private val retries = new AtomicLong
  private val differing = new AtomicLong
  private val differingRows = new AtomicLong
  private val bytes = new AtomicLong
  private val gauges = new SinkGauges(ofDatabase)
  private val pace = new LogPace
  @volatile private var last: Map[String, String] = Map.empty

  /** Publishes them in Spark's metrics system, too; called in every epoch.
    *
    * @param sinkId
    *   None: the query's id
    */
  def show(sinkId: Option[String]): Unit = gauges.show(sinkId.getOrElse(format))

  def retried(): Unit = retries.incrementAndGet(): Unit

  def committed(
      sinkId: String,
      attempt: EpochAttempt,
      shipment: Shipment,
      transport: Map[String, String],
      outcome: EpochOutcome): Unit = {
    val badRows = shipment.deadLetters.size.toLong
    val result = outcome match {
      case EpochOutcome.Applied(load, commit) =>
        bytes.addAndGet(shipment.bytes): Unit
        gauges.written(attempt.epoch, attempt.digest.rows - badRows, badRows)
        transport.get(SinkMetrics.DifferingRows).foreach(rows => differingRows.addAndGet(rows.toLong))
        Map("outcome" -> "applied", "loadMs" -> millis(load), "commitMs" -> millis(commit))
      case EpochOutcome.Repeated(contentDiffers) =>
        gauges.replayed()
        gauges.ended(attempt.epoch)
        if (contentDiffers) warn(sinkId, attempt)
        Map("outcome" -> "repeated")
    }
    val entries =
      Map("badRows" -> badRows.toString, "bytes" -> shipment.bytes.toString, "encodeMs" -> millis(shipment.encodeNanos))
    ended(sinkId, attempt, entries ++ transport ++ result)
  }

  /** An epoch whose rows the tasks have stored while it ran. */
  def flushed(sinkId: String, attempt: EpochAttempt, messages: Seq[FlushMessage], commitNanos: Long): Unit = {
    val rowCount = messages.map(_.written).sum
    val byteCount = messages.map(_.bytes).sum
    bytes.addAndGet(byteCount): Unit
    gauges.written(attempt.epoch, rowCount, 0L)
    val entries = Map(
      "rowsSkipped" -> (attempt.digest.rows - rowCount).toString,
      "badRows" -> "0",
      "bytes" -> byteCount.toString,
      "flushes" -> messages.map(_.flushes).sum.toString,
      "outcome" -> "applied",
      "transport" -> "flushed",
      "transportReason" -> s"the ${attempt.trigger.name} trigger",
      "commitMs" -> millis(commitNanos)
    )
    ended(sinkId, attempt, entries)
  }

  private def ended(sinkId: String, attempt: EpochAttempt, entries: Map[String, String]): Unit = {
    last = Map(
      "epoch" -> attempt.epoch.toString,
      "generation" -> attempt.generation.toString,
      "rows" -> attempt.digest.rows.toString) ++ entries
    if (pace.isDue())
      log.info(
        s"$format: sink '{}' is at epoch {}: {} rows in {} epochs since the start of the run",
        sinkId,
        attempt.epoch,
        gauges.totalRows,
        gauges.totalEpochs)
  }

  def asMap: Map[String, String] = last ++ Map(
    "retries" -> retries.get.toString,
    "repeatedEpochs" -> gauges.repeatedEpochs.toString,
    "differingRepetitions" -> differing.get.toString
  ) ++ Some(SinkMetrics.DifferingRows -> differingRows.get.toString).filter(_ => differingRows.get > 0)

  private def ofDatabase: Map[String, Double] =
    Map(
      "totalBytes" -> bytes.get.toDouble,
      "retries" -> retries.get.toDouble,
      "differingRepetitions" -> differing.get.toDouble,
      SinkMetrics.DifferingRows -> differingRows.get.toDouble) ++
      Seq("encodeMs", "loadMs", "commitMs").map(name => name -> last.get(name).fold(Double.NaN)(_.toDouble))

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

private[epochal] object SinkMetrics {

  /** The rows of an epoch's target that differ from those of its source. */
  val DifferingRows = "differingRows"
}

/** A sink's metrics in Spark's metrics system: common ones, and the sink's own. One object for each start of a query.
  *
  * @param more
  *   called by any thread; always returns the same names, with NaN for unknown values
  */
final private[epochal] class SinkGauges(more: => Map[String, Double], nanos: () => Long = () => System.nanoTime()) {
  private val shown = new AtomicBoolean
  private val epochs = new AtomicLong
  private val rows = new AtomicLong
  private val badRows = new AtomicLong
  private val replayCount = new AtomicLong
  private val lastEnd = new AtomicLong(nanos())
  @volatile private var epoch = Double.NaN

  /** Publishes them for the query of this thread, at the first call.
    *
    * @param sink
    *   its `sinkId`, else the name of its format
    */
  def show(sink: String): Unit = if (shown.compareAndSet(false, true))
    QueryMetrics.show(Seq("sink", sink), values.keys)(name => values(name))

  /** An epoch has written `rows`, and `badRows` dead letters. */
  def written(epoch: Long, rows: Long, badRows: Long): Unit = {
    this.rows.addAndGet(rows): Unit
    this.badRows.addAndGet(badRows): Unit
    epochs.incrementAndGet(): Unit
    ended(epoch)
  }

  /** An epoch was recognised as a replay. */
  def replayed(): Unit = replayCount.incrementAndGet(): Unit

  def ended(epoch: Long): Unit = {
    this.epoch = epoch.toDouble
    lastEnd.set(nanos())
  }

  def totalRows: Long = rows.get

  def totalEpochs: Long = epochs.get

  def repeatedEpochs: Long = replayCount.get

  private def values: Map[String, Double] = Map(
    "epoch" -> epoch,
    "totalEpochs" -> epochs.get.toDouble,
    "totalRows" -> rows.get.toDouble,
    "totalBadRows" -> badRows.get.toDouble,
    "repeatedEpochs" -> replayCount.get.toDouble,
    "secondsSinceEpoch" -> (nanos() - lastEnd.get) / 1e9
  ) ++ more
}
