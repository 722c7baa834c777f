package io.epochal.jdbc.database

/** A change of the target's columns that a query's rows need.
  *
  * @param column
  *   its name
  * @param columnType
  *   its new type, if it gets one
  * @param clause
  *   of ALTER TABLE
  * @param before
  *   the column as it is now; None: it is added
  */
final case class Alteration(column: String, columnType: Option[String], clause: String, before: Option[TargetColumn]) {
  def isDone(table: TargetTable): Boolean = before match {
    case None => table.columns.exists(_.name.equalsIgnoreCase(column))
    case _    => table.columns.find(_.name == column) != before
  }
}
