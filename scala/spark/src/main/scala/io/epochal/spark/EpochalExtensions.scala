package io.epochal.spark

import org.apache.spark.sql.SparkSessionExtensions

import io.epochal.spark.seam.{JobDescription, MaskedCommand, StatementOptions}

/** `spark.sql.extensions=io.epochal.spark.EpochalExtensions`: keeps secrets that stand in SQL
  * (`CREATE TEMPORARY VIEW … USING epochal-rest OPTIONS (…)`) out of Spark's event log and pages. It changes nothing of what
  * a statement does.
  */
final class EpochalExtensions extends (SparkSessionExtensions => Unit) {

  override def apply(extensions: SparkSessionExtensions): Unit = {
    PlanRedaction.install()
    extensions.injectResolutionRule(_ => new StatementOptions(PlanRedaction.hideUnknown))
    extensions.injectPlannerStrategy(session => MaskedCommand.strategy(session, PlanRedaction.isOurs))
    extensions.injectResolutionRule(session => new JobDescription(session.sparkContext, PlanRedaction.statement))
  }
}
