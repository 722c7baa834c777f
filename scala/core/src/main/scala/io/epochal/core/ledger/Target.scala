package io.epochal.core.ledger

/** The table that a sink writes.
  *
  * @param name
  *   as the database spells it, with its schema
  * @param oid
  *   the database's number for it, if there is one: it differs after a table was dropped and recreated
  */
final case class Target(name: String, oid: Option[Long]) {

  /** Distinguishes it from a table that was recreated under its name, where the database can. */
  def id: String = oid.fold(name)(_.toString)

  /** Whether it is the other's table, renamed or not, or a recreated table of the same name. */
  def isTableOf(other: Target): Boolean = name == other.name || oid.exists(other.oid.contains(_))

  override def toString: String = oid.fold(name)(o => s"$name (oid $o)")
}
