package io.epochal.kit.spark

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Strategy, LeafV2CommandExec}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.{SparkSession, classic}

import io.epochal.core.error.Redaction

/** A command of Spark that shows none of its arguments: that which makes a table prints the table's options as they are. */
final private[spark] case class MaskedCommand(@transient command: SparkPlan) extends LeafV2CommandExec {

  override def output: Seq[Attribute] = command.output

  override protected def run(): Seq[InternalRow] = command.executeCollect().toSeq

  override def nodeName: String = command.nodeName

  override protected def stringArgs: Iterator[Any] = Iterator(Redaction.Mask)
}

private[spark] object MaskedCommand {

  /** Plans a statement that makes a table of a format as Spark does, and masks it.
    *
    * @param isMasked
    *   by the format's name
    */
  def strategy(session: SparkSession, isMasked: String => Boolean): SparkStrategy = new SparkStrategy {
    override def apply(plan: LogicalPlan): Seq[SparkPlan] = (plan, session) match {
      case (MadeTable(spec), here: classic.SparkSession) if spec.provider.exists(isMasked) =>
        new DataSourceV2Strategy(here)(plan).map(MaskedCommand(_))
      case _ => Nil
    }
  }
}
