package io.epochal.kit.metric

import org.apache.spark.sql.connector.metric.CustomTaskMetric

/** What one task has counted of a metric, for Spark to add up. */
final private[epochal] case class TaskMetric(override val name: String, override val value: Long)
    extends CustomTaskMetric
