package io.epochal.jdbc

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

import io.epochal.kit.metric.TaskMetric

/** What one task counts; Spark adds the tasks up and shows the sums with the plan. */
final private[jdbc] class TaskMetrics(clock: () => Long = () => System.nanoTime()) {
  import TaskMetrics._

  private val start = clock()
  private var nanos = 0L
  private var samples = 0L

  /** Whether to measure the row that comes after so many: one in `Every`, and not the first, which loads classes. */
  def isSampled(rowsBefore: Long): Boolean = (rowsBefore & (Every - 1)) == First

  /** The time that the encoding of one such row took. */
  def sample(nanos: Long): Unit = {
    this.nanos += nanos
    samples += 1
  }

  /** Of all rows, estimated: never more than the task's own time, though a pause may have fallen on a row that was measured. */
  def encodeNanos(rows: Long): Long =
    if (samples == 0) 0L else math.min((nanos.toDouble / samples.toDouble * rows.toDouble).toLong, clock() - start)

  def values(rows: Long, bytes: Long): Array[CustomTaskMetric] = Array(
    TaskMetric(RowsEncoded.Name, rows),
    TaskMetric(BytesEncoded.Name, bytes),
    TaskMetric(EncodeMillis.Name, encodeNanos(rows) / 1000000))
}

private[jdbc] object TaskMetrics {

  /** A power of two. */
  private[jdbc] val Every = 128L
  private val First = 16L

  val supported: Array[CustomMetric] = Array(new RowsEncoded, new BytesEncoded, new EncodeMillis)
}

// Spark makes these by name when it shows them.

final class RowsEncoded extends CustomSumMetric {
  override def name(): String = RowsEncoded.Name
  override def description(): String = "rows encoded for the database"
}

object RowsEncoded {
  val Name = "epochalRows"
}

final class BytesEncoded extends CustomSumMetric {
  override def name(): String = BytesEncoded.Name
  override def description(): String = "bytes encoded for the database"
}

object BytesEncoded {
  val Name = "epochalBytes"
}

/** Estimated from a sample of the rows. */
final class EncodeMillis extends CustomSumMetric {
  override def name(): String = EncodeMillis.Name
  override def description(): String = "milliseconds spent encoding (estimate)"
}

object EncodeMillis {
  val Name = "epochalEncodeMillis"
}
