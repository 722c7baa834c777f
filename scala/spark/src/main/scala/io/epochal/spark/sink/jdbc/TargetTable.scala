package io.epochal.spark.sink.jdbc

import org.apache.spark.sql.types.StructField

import io.epochal.core.ledger.Target

/** A column's type as its dialect knows it. */
trait ColumnType extends Serializable {

  /** As a person would declare it: `numeric(10,2)`. */
  def declared: String
}

/** A column of the target.
  *
  * @param nullable
  *   false also where the database would take a NULL but store something else (SQLite's `INTEGER PRIMARY KEY`)
  * @param filled
  *   the database gives it a value when a row brings none
  * @param generated
  *   the database computes it always: no row can bring a value
  */
final case class TargetColumn(
    name: String,
    columnType: ColumnType,
    nullable: Boolean,
    filled: Boolean,
    generated: Boolean
)

/** A table as found in the database.
  *
  * @param keys
  *   the columns of each primary key and unique index that can stand behind an upsert
  */
final case class TargetTable(name: QualifiedName, target: Target, columns: Seq[TargetColumn], keys: Seq[Set[String]])

/** A column of the query and the table's column that takes it.
  *
  * @param ordinal
  *   place in the query's rows
  * @param required
  *   a NULL here is a bad row
  */
final case class BoundColumn(field: StructField, ordinal: Int, column: TargetColumn, required: Boolean)

/** How rows go into the table, in the table's spelling of names. */
sealed trait WriteMode

object WriteMode {
  case object Append extends WriteMode

  /** @param order
    *   of rows with the same key the greatest wins; None: there must be none
    */
  final case class Upsert(keys: Seq[String], order: Option[String]) extends WriteMode
}

/** A query's columns bound to a table: all that a load has to know.
  *
  * @param columns
  *   in the order of the query's rows
  * @param nulCharacter
  *   what becomes of the NUL character in texts
  */
final case class BoundTable(
    table: TargetTable,
    columns: Seq[BoundColumn],
    mode: WriteMode,
    nulCharacter: NulCharacter = NulCharacter.Error
) {
  def columnNames: Seq[String] = columns.map(_.column.name)
}
