package io.epochal.kit.spark

import org.apache.spark.sql.catalyst.plans.logical.{
  CreateTable,
  CreateTableAsSelect,
  LogicalPlan,
  ReplaceTable,
  ReplaceTableAsSelect,
  TableSpec
}

/** The table that a statement makes or replaces: `CREATE TABLE … USING`, with `AS SELECT` or without. */
private object MadeTable {

  def unapply(plan: LogicalPlan): Option[TableSpec] = {
    val spec = plan match {
      case made: CreateTable          => Some(made.tableSpec)
      case made: CreateTableAsSelect  => Some(made.tableSpec)
      case made: ReplaceTable         => Some(made.tableSpec)
      case made: ReplaceTableAsSelect => Some(made.tableSpec)
      case _                          => None
    }
    spec.collect { case resolved: TableSpec => resolved }
  }
}
