package io.epochal.kit.spark

import org.apache.spark.sql.connector.metric.{CustomSumMetric, CustomTaskMetric}

/** A metric that tasks count and Spark sums. Spark creates each metric by its class name, without arguments. */
abstract private[epochal] class SumMetric(override val name: String, override val description: String)
    extends CustomSumMetric {
  final def ofTask(value: Long): CustomTaskMetric = TaskMetric(name, value)
}

final private[epochal] case class TaskMetric(override val name: String, override val value: Long)
    extends CustomTaskMetric
