package io.epochal.formats

import org.apache.spark.sql.SparkSessionExtensions

import io.epochal.kit.engine.{JobDescription, MaskedCommand, StatementOptions}

/** `spark.sql.extensions=io.epochal.formats.EpochalExtensions`: keeps secrets that stand in SQL
  * (`CREATE TEMPORARY VIEW … USING epochal-rest OPTIONS (…)`) out of Spark's event log and pages. It changes nothing of what
  * a statement does.
  */
final class EpochalExtensions extends (SparkSessionExtensions => Unit) {

  override def apply(extensions: SparkSessionExtensions): Unit = {
    StatementRedaction.install()
    extensions.injectResolutionRule(_ => new StatementOptions(StatementRedaction.hideUnknown))
    extensions.injectPlannerStrategy(session => MaskedCommand.strategy(session, StatementRedaction.isOurs))
    extensions.injectResolutionRule(session => new JobDescription(session.sparkContext, StatementRedaction.statement))
  }
}
