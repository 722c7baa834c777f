package io.epochal.cdc.change

import io.epochal.cdc.pgoutput.RelationColumn

/** Columns that differ between two definitions of a table, by name and type. A type that got wider is no difference. */
final private[cdc] case class ColumnChanges(added: Seq[RelationColumn], lacking: Seq[RelationColumn]) {

  override def toString: String = {
    val retyped = lacking.map(_.name).intersect(added.map(_.name))
    def listed(what: String, names: Seq[String]) = Option.when(names.nonEmpty)(s"$what ${names.mkString(", ")}")
    Seq(
      listed("another type of", retyped),
      listed("without", lacking.map(_.name).diff(retyped)),
      listed("with", added.map(_.name).diff(retyped))).flatten.mkString(", ")
  }
}

private[cdc] object ColumnChanges {

  def of(before: Seq[RelationColumn], now: Seq[RelationColumn]): ColumnChanges = {
    def isKept(old: RelationColumn, found: RelationColumn) = old.name == found.name && found.widens(old)
    ColumnChanges(
      now.filterNot(column => before.exists(isKept(_, column))),
      before.filterNot(column => now.exists(isKept(column, _))))
  }
}
