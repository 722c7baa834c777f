package io.epochal.kit.sink

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}

import io.epochal.kit.spark.SumMetric

/** The counts of one task; Spark sums them and shows them with the plan. */
final private[epochal] class TaskMetrics(clock: () => Long = () => System.nanoTime()) {
  import TaskMetrics._

  private val start = clock()
  private var nanos = 0L
  private var samples = 0L

  /** Whether to measure the row after this many: one in `Every`, and not the first, which loads classes. */
  def isSampled(rowsBefore: Long): Boolean = (rowsBefore & (Every - 1)) == First

  /** Adds the time that encoding a sampled row took. */
  def sample(nanos: Long): Unit = {
    this.nanos += nanos
    samples += 1
  }

  /** The estimate for all rows: never more than the task's own time, though a pause may have hit a sampled row. */
  def encodeNanos(rows: Long): Long =
    if (samples == 0) 0L else math.min((nanos.toDouble / samples.toDouble * rows.toDouble).toLong, clock() - start)

  def values(rows: Long, bytes: Long): Array[CustomTaskMetric] = Array(
    TaskMetrics.rows.ofTask(rows),
    TaskMetrics.bytes.ofTask(bytes),
    encodeMillis.ofTask(encodeNanos(rows) / 1000000))
}

private[epochal] object TaskMetrics {

  final class RowsEncoded extends SumMetric("epochalRows", "rows encoded for the database")

  final class BytesEncoded extends SumMetric("epochalBytes", "bytes encoded for the database")

  /** Estimated from a sample of the rows. */
  final class EncodeMillis extends SumMetric("epochalEncodeMillis", "milliseconds spent encoding (estimate)")

  /** A power of two. */
  private[epochal] val Every = 128L
  private val First = 16L

  private val rows = new RowsEncoded
  private val bytes = new BytesEncoded
  private val encodeMillis = new EncodeMillis

  val supported: Array[CustomMetric] = Array(rows, bytes, encodeMillis)
}
