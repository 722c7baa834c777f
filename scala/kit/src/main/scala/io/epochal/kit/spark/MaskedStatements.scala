package io.epochal.kit.spark

import scala.util.matching.Regex

import org.apache.spark.sql.SparkSessionExtensions

/** Keeps what statements of SQL give to a format out of plans, events and job descriptions. */
private[epochal] object MaskedStatements {

  /** @param isMasked
    *   by a format's name
    * @param seen
    *   takes the format's name and the names of the options that a statement gives to it, before its plan is printed
    * @param secrets
    *   what of a statement's text is masked
    */
  def install(
      extensions: SparkSessionExtensions,
      isMasked: String => Boolean,
      seen: (String, Set[String]) => Unit,
      secrets: Regex
  ): Unit = {
    extensions.injectResolutionRule(_ => new StatementOptions(seen))
    extensions.injectPlannerStrategy(session => MaskedCommand.strategy(session, isMasked))
    extensions.injectResolutionRule(session => new JobDescription(session.sparkContext, secrets))
  }
}
