package io.epochal.kit.metric

import org.apache.spark.sql.connector.metric.{CustomSumMetric, CustomTaskMetric}

/** A metric that tasks count and Spark sums. Spark creates each metric by its class name, without arguments. */
abstract private[epochal] class SumMetric(override val name: String, override val description: String)
    extends CustomSumMetric {

  /** The count of one task. */
  final def ofTask(value: Long): CustomTaskMetric = TaskMetric(name, value)
}

/** The count of one task for a metric. */
final private[epochal] case class TaskMetric(override val name: String, override val value: Long)
    extends CustomTaskMetric
