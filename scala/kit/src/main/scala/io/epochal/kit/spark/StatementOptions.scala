package io.epochal.kit.spark

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.CreateTempViewUsing

/** Tells which options a statement gives to a format, before its plan is printed.
  *
  * A rule that leaves plans as they are.
  *
  * @param seen
  *   takes the format's name and the names of the options
  */
final private[spark] class StatementOptions(seen: (String, Set[String]) => Unit) extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan match {
      case view: CreateTempViewUsing => seen(view.provider, view.options.keySet)
      case MadeTable(spec)           => spec.provider.foreach(seen(_, spec.options.keySet))
      case _                         =>
    }
    plan
  }
}
