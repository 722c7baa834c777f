package io.epochal.spark.sink.jdbc

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}

import io.epochal.spark.TaskMetric

/** What one task counts; Spark adds the tasks up and shows the sums with the plan. */
final private[jdbc] class TaskMetrics {
  import TaskMetrics._

  private var sampled = 0L

  /** The time that one in `SampleMask + 1` rows took. */
  def sample(nanos: Long): Unit = sampled += nanos

  /** Of all rows, estimated. */
  def encodeNanos: Long = sampled * (SampleMask + 1)

  def values(rows: Long, bytes: Long): Array[CustomTaskMetric] = Array(
    TaskMetric(RowsEncoded.Name, rows),
    TaskMetric(BytesEncoded.Name, bytes),
    TaskMetric(EncodeMillis.Name, encodeNanos / 1000000))
}

private[jdbc] object TaskMetrics {

  /** A power of two, less one. */
  val SampleMask = 127L

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
