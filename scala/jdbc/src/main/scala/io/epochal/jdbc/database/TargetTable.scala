package io.epochal.jdbc.database

import io.epochal.core.ledger.Target
import io.epochal.jdbc.row.CharacterSet
import io.epochal.kit.database.QualifiedName

/** A table as found in the database.
  *
  * @param characters
  *   of the whole database, where it lacks some of Unicode
  */
final case class TargetTable(
    name: QualifiedName,
    target: Target,
    columns: Seq[TargetColumn],
    keys: Seq[TargetKey],
    private[jdbc] val characters: Option[CharacterSet] = None) {

  /** A text for people, with an escape as in JSON for each character that the database lacks. */
  private[jdbc] def storable(text: String): String = characters.fold(text)(_.escaped(text))

  /** A name derived from `name` that no column has, in any case. */
  def unused(name: String): String =
    Iterator.iterate(name)(_ + "_").find(n => !columns.exists(_.name.equalsIgnoreCase(n))).get
}
