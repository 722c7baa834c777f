package io.epochal.formats

import org.apache.spark.sql.SparkSessionExtensions

import io.epochal.kit.spark.MaskedStatements

/** `spark.sql.extensions=io.epochal.formats.EpochalExtensions`: keeps secrets that stand in SQL
  * (`CREATE TEMPORARY VIEW … USING epochal-rest OPTIONS (…)`) out of Spark's event log and pages. It changes nothing of what
  * a statement does.
  */
final class EpochalExtensions extends (SparkSessionExtensions => Unit) {

  override def apply(extensions: SparkSessionExtensions): Unit = {
    StatementRedaction.install()
    MaskedStatements.install(
      extensions,
      StatementRedaction.isOurs,
      StatementRedaction.hideUnknown,
      StatementRedaction.statement)
  }
}
