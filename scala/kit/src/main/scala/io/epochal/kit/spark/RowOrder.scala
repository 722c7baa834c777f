package io.epochal.kit.spark

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

import io.epochal.core.error.EpochalException

/** Whether a replay of an epoch brings the same rows in the same order to the same partitions, as far as a plan tells.
  *
  * The connector API tells a sink nothing of the plan above it, so the engine's own plan is read. A plan keeps its source's
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
