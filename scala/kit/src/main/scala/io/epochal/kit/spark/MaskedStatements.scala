package io.epochal.kit.spark

import java.util.regex.Matcher

import scala.util.matching.Regex

import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.CreateTempViewUsing
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Strategy, LeafV2CommandExec}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions, classic}

import io.epochal.core.error.Redaction

/** Keeps options in SQL statements out of plans, events and job descriptions. */
private[epochal] object MaskedStatements {
  private val Description = "spark.job.description"

  /** Installs the masking.
    *
    * @param isMasked
    *   by a format's name
    * @param seen
    *   takes the format's name and the names of the options in a statement, before its plan is printed
    * @param secrets
    *   the parts of a statement's text to mask
    */
  def install(
      extensions: SparkSessionExtensions,
      isMasked: String => Boolean,
      seen: (String, Set[String]) => Unit,
      secrets: Regex
  ): Unit = {
    extensions.injectResolutionRule(_ =>
      new PlanObserver({
        case view: CreateTempViewUsing => seen(view.provider, view.options.keySet)
        case CreatedTable(spec)        => spec.provider.foreach(seen(_, spec.options.keySet))
        case _                         =>
      }))
    extensions.injectPlannerStrategy(new MaskedCommands(_, isMasked))
    extensions.injectResolutionRule(session => new PlanObserver(_ => maskDescription(session.sparkContext, secrets)))
  }

  /** If a program runs SQL, the description of the thread's jobs is the statement's text. */
  private def maskDescription(context: SparkContext, secrets: Regex): Unit =
    Option(context.getLocalProperty(Description)).filter(secrets.findFirstIn(_).nonEmpty).foreach { text =>
      context.setLocalProperty(Description, secrets.replaceAllIn(text, Matcher.quoteReplacement(Redaction.Mask)))
    }
}

/** A rule that leaves plans unchanged. Spark applies it before it prints a plan and before a statement's first job. */
final private class PlanObserver(observe: LogicalPlan => Unit) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    observe(plan)
    plan
  }
}

/** Plans a statement that creates a table of a masked format as Spark does, and masks the command. */
final private class MaskedCommands(session: SparkSession, isMasked: String => Boolean) extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = (plan, session) match {
    case (CreatedTable(spec), here: classic.SparkSession) if spec.provider.exists(isMasked) =>
      new DataSourceV2Strategy(here)(plan).map(MaskedCommand(_))
    case _ => Nil
  }
}

/** A Spark command that shows none of its arguments: the one that creates a table prints all table options. */
final private[spark] case class MaskedCommand(@transient command: SparkPlan) extends LeafV2CommandExec {

  override def output: Seq[Attribute] = command.output

  override protected def run(): Seq[InternalRow] = command.executeCollect().toSeq

  override def nodeName: String = command.nodeName

  override protected def stringArgs: Iterator[Any] = Iterator(Redaction.Mask)
}

/** The table that a statement creates or replaces: `CREATE TABLE … USING`, with or without `AS SELECT`. */
private object CreatedTable {

  def unapply(plan: LogicalPlan): Option[TableSpec] =
    Some(plan)
      .collect {
        case table: CreateTable          => table.tableSpec
        case table: CreateTableAsSelect  => table.tableSpec
        case table: ReplaceTable         => table.tableSpec
        case table: ReplaceTableAsSelect => table.tableSpec
      }
      .collect { case spec: TableSpec => spec }
}
