package io.epochal.kit.spark

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SparkPlan

/** Whether the rows that a task writes can be counted: by the plan, they are those of one partition of one source, in its order,
  * each time that they are read.
  */
private[spark] object CountedPlan {

  /** Why they cannot. */
  def refusal(execution: AnyRef): Option[String] = {
    val last = RunningQuery.call(execution, "lastExecution")
    val executed = RunningQuery.call(last, "executedPlan").asInstanceOf[SparkPlan]
    val sources = executed.collectLeaves()
    foreign(executed)
      .orElse(Option.when(sources.size != 1)(s"it reads ${sources.size} sources"))
      .orElse(unsteady(sources.head))
      .orElse(changing(RunningQuery.call(last, "analyzed").asInstanceOf[LogicalPlan]))
  }

  private def foreign(plan: SparkPlan): Option[String] =
    plan
      .find(node => !Known(node.getClass.getSimpleName))
      .map(node => s"its plan has ${node.nodeName}")

  /** A task is known by its number alone, and a row by its place: a source must give the same partition of its own the same number
    * after a restart, and the same rows, as those of this kit do. Kafka's partitions, for one, come in the order of a hash map, and
    * Spark's socket has other lines.
    */
  private def unsteady(scan: SparkPlan): Option[String] = {
    val stream = RunningQuery.call(scan, "stream").getClass
    Option.unless(stream.getName.startsWith("io.epochal.") || Steady(stream.getSimpleName))(
      s"${stream.getSimpleName} may give other rows, or its partitions in another order, after a restart")
  }

  /** `current_timestamp()` is among them: it is another one when an epoch is run again. */
  private def changing(plan: LogicalPlan): Option[String] =
    plan
      .collect { case node => node.expressions.find(!_.deterministic) }
      .flatten
      .headOption
      .map(expression => s"the value of ${expression.sql.take(LongestShown)} differs from run to run")

  private val LongestShown = 200

  /** Streams of Spark's own that repeat their rows in numbered partitions. */
  private val Steady = Set("RateStreamContinuousStream")

  /** Writing, reading, and what makes of one row one or none. Spark's own names, in `sql.execution` and below. */
  private val Known = Set(
    "WriteToDataSourceV2Exec",
    "WriteToContinuousDataSourceExec",
    "RealTimeStreamScanExec",
    "ContinuousScanExec",
    "ColumnarToRowExec",
    "EventTimeWatermarkExec",
    "FilterExec",
    "InputAdapter",
    "ProjectExec",
    "WholeStageCodegenExec"
  )
}
