package io.epochal.jdbc.database

import io.epochal.jdbc.row.NulCharacter
import io.epochal.kit.database.QualifiedName

/** A query's columns bound to a table: everything that a load needs.
  *
  * @param columns
  *   in the order of the query's rows
  * @param nulCharacter
  *   how NUL characters in texts are handled
  * @param alterations
  *   the changes of columns that come with the first epoch
  * @param deadLetters
  *   the table that takes bad rows
  * @param shape
  *   the types of the table's columns at binding
  * @param trustedOwners
  *   see [[Trust]]
  */
final case class BoundTable(
    table: TargetTable,
    columns: Seq[BoundColumn],
    mode: WriteMode,
    nulCharacter: NulCharacter = NulCharacter.Error,
    alterations: Seq[Alteration] = Nil,
    deadLetters: Option[QualifiedName] = None,
    shape: String = "",
    trustedOwners: Seq[String] = Nil) {
  def trust: Trust = Trust(table.name, trustedOwners)

  def columnNames: Seq[String] = columns.map(_.column.name)

  def operation: Option[OperationColumn] = mode match {
    case upsert: WriteMode.Upsert => upsert.operation
    case WriteMode.Append         => None
  }

  /** The columns of encoded rows: the table's, then those of the operation. */
  def incoming: Seq[String] = columnNames ++ operation.toSeq.flatMap(_.names)

  /** The number of columns of the query's rows. */
  def width: Int = operation.flatMap(_.feed).fold(incoming.size)(_.width)
}
