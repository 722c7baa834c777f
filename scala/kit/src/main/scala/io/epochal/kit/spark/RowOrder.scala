package io.epochal.kit.spark

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SparkPlan

import io.epochal.core.error.EpochalException
import io.epochal.core.offset.CountedStream

/** Checks whether a replay of an epoch delivers the same rows in the same order to the same partitions, as far as a plan shows.
  *
  * The connector API hides the plan from a sink, so the engine's own plan is read. A plan keeps its source's order if it works
  * row by row; the listed operators do. Operators that shuffle, group, join or sort, and unknown ones, may deliver rows in
  * another order.
  *
  * Not visible in a plan: functions that Spark takes for deterministic although they are not (a user-defined function counts as
  * deterministic unless declared otherwise), a source that returns other rows for the same offsets or another number of
  * partitions, and a changed static table beside the stream.
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

  /** Finds a reason against repeatable order.
    *
    * @return
    *   the part of the query's plan that makes its row order unrepeatable; None if none is known
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

/** Checks whether the rows of a task can be counted: by the plan, they are those of one partition of one source, in its order,
  * on every read.
  */
private[spark] object CountedPlan {

  /** Why the rows of the plan cannot be counted. */
  def refusal(execution: AnyRef): Option[String] = {
    val last = RunningQuery.call(execution, "lastExecution")
    val physicalPlan = plan(execution)
    val sources = physicalPlan.collectLeaves()
    foreign(physicalPlan)
      .orElse(Option.when(sources.size != 1)(s"it reads ${sources.size} sources"))
      .orElse(unsteady(RunningQuery.call(sources.head, "stream")))
      .orElse(changing(RunningQuery.call(last, "analyzed").asInstanceOf[LogicalPlan]))
  }

  private def foreign(plan: SparkPlan): Option[String] =
    plan
      .find(node => !Known(node.getClass.getSimpleName))
      .map(node => s"its plan has ${node.nodeName}${Reasons.getOrElse(node.getClass.getSimpleName, "")}")
      .orElse(plan.collectFirst {
        case node if node.expressions.exists(_.find(_.getClass.getSimpleName == "HiveGenericUDTF").isDefined) =>
          "a table function of Hive may add rows at the end of an epoch"
      })

  /** A task is identified by its number alone, and a row by its index: after a restart, a source must assign the same partition
    * the same number and the same rows ([[CountedStream]]). Kafka's partitions, for example, come in the order of a hash map, and
    * Spark's socket source does not repeat its lines.
    */
  private[spark] def unsteady(stream: AnyRef): Option[String] = stream match {
    case _: CountedStream                                => None
    case stream if Steady(stream.getClass.getSimpleName) => None
    case stream =>
      Some(s"${stream.getClass.getSimpleName} may give other rows, or its partitions in another order, after a restart")
  }

  /** The stream, if its rows can be counted. */
  def stream(execution: AnyRef): Option[CountedStream] =
    plan(execution).collectLeaves().map(RunningQuery.call(_, "stream")).collectFirst { case stream: CountedStream =>
      stream
    }

  private def plan(execution: AnyRef): SparkPlan =
    RunningQuery.call(RunningQuery.call(execution, "lastExecution"), "executedPlan").asInstanceOf[SparkPlan]

  /** Includes `current_timestamp()`, whose value changes when an epoch is rerun. */
  private def changing(plan: LogicalPlan): Option[String] =
    plan
      .collect { case node => node.expressions.find(!_.deterministic) }
      .flatten
      .headOption
      .map(expression => s"the value of ${expression.sql.take(LongestShown)} differs from run to run")

  private val LongestShown = 200

  /** Spark's streams that repeat their rows in numbered partitions. */
  private val Steady = Set("RateStreamContinuousStream")

  /** Writing, reading, and operators that work row by row: all rows that come of one are delivered before the next is read, and
    * so before an epoch ends. Spark's names, in `sql.execution` and below.
    */
  private val Known = Set(
    "WriteToDataSourceV2Exec",
    "WriteToContinuousDataSourceExec",
    "RealTimeStreamScanExec",
    "ContinuousScanExec",
    "CollectMetricsExec",
    "ColumnarToRowExec",
    "DeserializeToObjectExec",
    "EventTimeWatermarkExec",
    "FilterExec",
    "GenerateExec",
    "InputAdapter",
    "MapElementsExec",
    "ProjectExec",
    "SerializeFromObjectExec",
    "WholeStageCodegenExec"
  )

  private val Arrival = ", whose rows depend on the order in which a shuffle delivers those of several tasks"

  /** Why rows cannot be counted after some operators that Spark allows in real time. */
  private val Reasons = Map(
    "ShuffleExchangeExec" -> ", a shuffle, which delivers the rows of several tasks in the order in which they arrive",
    "StatefulStreamlineAggregateExec" -> Arrival,
    "ProjectAggregationBufferExec" -> Arrival,
    "StateStoreSaveExec" -> Arrival,
    "StreamingDeduplicateExec" -> Arrival,
    "StreamingDeduplicateWithinWatermarkExec" -> Arrival,
    "TransformWithStateExec" -> s"$Arrival, and on timers",
    "TransformWithStateInPySparkExec" -> s"$Arrival, and on timers",
    "BroadcastHashJoinExec" -> ", whose other side may have other rows after a restart",
    "MapPartitionsExec" -> ", a function of all rows of an epoch, which ends elsewhere when it is repeated",
    "UnionExec" -> ", of several sources"
  )
}
