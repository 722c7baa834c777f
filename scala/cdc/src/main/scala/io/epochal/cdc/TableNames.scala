package io.epochal.cdc

import io.epochal.core.error.{Conditions, EpochalException}

/** The names of the captured tables by their OIDs: those of the first start, and those that were added later.
  *
  * @param isSeveral
  *   whether tables can be added
  * @param source
  *   the identity that offsets carry
  */
final private[cdc] case class TableNames(byOid: Map[Long, String], isSeveral: Boolean, source: String) {

  /** The error for a captured table under another name, and for another table under its name. */
  def conflict(oid: Long, name: String): Option[EpochalException] = byOid.get(oid) match {
    case Some(before) => Option.when(before != name)(TableNames.error(s"$before is now $name"))
    case None         => Option.when(byOid.exists(_._2 == name))(TableNames.error(s"$name was created again"))
  }

  /** The same, and for a table that the checkpoint does not have, unless all the rows that it ever had are in the log since the first
    * start.
    */
  def refusal(oid: Long, name: String)(isWhole: => Boolean): Option[EpochalException] =
    conflict(oid, name).orElse {
      if (byOid.contains(oid)) None
      else if (!isSeveral) Some(another(name))
      else Option.unless(isWhole)(TableNames.error(s"$name was added, and may have rows from before"))
    }

  /** The error for a table that was renamed, dropped or created again: its new rows may not be published.
    *
    * @param current
    *   tables that have one of the OIDs or one of the names
    * @param plannedTables
    *   tables of the query
    */
  def change(current: Seq[(Long, String)], plannedTables: Seq[(Long, String)]): Option[EpochalException] = {
    val dropped = plannedTables.filterNot { case (oid, _) => isSeveral || current.exists(_._1 == oid) }
    (current.flatMap { case (oid, name) => conflict(oid, name) } ++
      dropped.map { case (_, name) => TableNames.error(s"$name was dropped") }).headOption
  }

  /** The name stands for another table than before. */
  private def another(name: String): EpochalException = {
    val before = byOid.values.head
    Conditions.TablesChanged.withHint(
      s"Name the table of the checkpoint: {option:dbtable=$before}, {option:sourceId=$source}.")(
      "change" -> s"$name instead of $before")
  }
}

private[cdc] object TableNames {
  def error(change: String): EpochalException = Conditions.TablesChanged("change" -> change)
}
