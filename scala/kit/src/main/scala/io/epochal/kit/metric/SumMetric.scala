package io.epochal.kit.metric

import org.apache.spark.sql.connector.metric.{CustomSumMetric, CustomTaskMetric}

/** What tasks count and Spark adds up. Spark makes each metric by the name of its class, without arguments. */
abstract private[epochal] class SumMetric(override val name: String, override val description: String)
    extends CustomSumMetric {

  /** What one task has counted. */
  final def ofTask(value: Long): CustomTaskMetric = TaskMetric(name, value)
}

/** What one task has counted of a metric. */
final private[epochal] case class TaskMetric(override val name: String, override val value: Long)
    extends CustomTaskMetric
