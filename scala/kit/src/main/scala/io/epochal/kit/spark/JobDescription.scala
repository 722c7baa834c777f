package io.epochal.kit.spark

import java.util.regex.Matcher

import scala.util.matching.Regex

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

import io.epochal.core.error.Redaction

/** Masks secrets in the description of a thread's jobs: where a program runs SQL for somebody, that is the statement's text.
  *
  * A rule that leaves plans as they are: it is asked before a statement's first job.
  */
final private[spark] class JobDescription(context: SparkContext, secrets: Regex) extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = {
    Option(context.getLocalProperty(JobDescription.Key)).foreach { text =>
      if (secrets.findFirstIn(text).nonEmpty)
        context.setLocalProperty(
          JobDescription.Key,
          secrets.replaceAllIn(text, Matcher.quoteReplacement(Redaction.Mask)))
    }
    plan
  }
}

private object JobDescription {
  private val Key = "spark.job.description"
}
