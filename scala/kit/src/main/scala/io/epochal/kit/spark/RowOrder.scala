package io.epochal.kit.spark

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SparkPlan

import io.epochal.core.error.EpochalException

/** Whether a replay of an epoch brings the same rows in the same order to the same partitions, as far as a plan shows.
  *
  * The connector API shows a sink nothing of the plan above it, so the engine's own plan is read. A plan keeps its source's
  * order when all it does is done row by row; these operators are known to. Whatever shuffles, groups, joins or sorts, and
  * whatever is not known here, may bring rows in another order.
  *
  * Not to be seen in a plan: functions that Spark takes for deterministic and that are not (any user-defined function counts
  * as deterministic unless it says otherwise), a source that gives other rows for the same offsets or deals them out to
  * another number of partitions, and a static table beside the stream that has changed.
  */
object RowOrder {

  private val rowByRow = Set(
    "WriteToDataSourceV2",
    "WriteToMicroBatchDataSource",
    "Project",
    "Filter",
    "Generate",
    "Union",
    "EventTimeWatermark",
    "SubqueryAlias",
    "View",
    "ResolvedHint",
    "CollectMetrics",
    "DeserializeToObject",
    "SerializeFromObject",
    "MapElements",
    "TypedFilter",
    "BatchEvalPython",
    "ArrowEvalPython"
  )

  /** @return
    *   what in the query's plan keeps its row order from being repeatable; None when nothing is known to
    */
  def hindrance(queryId: String): Either[EpochalException, Option[String]] = RunningQuery.plan(queryId).map(hindrance)

  private[spark] def hindrance(plan: LogicalPlan): Option[String] = plan.collectFirst {
    case node if node.children.nonEmpty && !rowByRow(node.nodeName) => s"the operator ${node.nodeName}"
    case node if node.expressions.exists(!_.deterministic) =>
      s"the function ${node.expressions.flatMap(nameOf).headOption.getOrElse("that is not deterministic")}"
  }

  private def nameOf(expression: Expression): Option[String] = expression.collectFirst {
    case e if !e.deterministic && e.children.forall(_.deterministic) => s"${e.prettyName}()"
  }
}

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
