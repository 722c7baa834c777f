package io.epochal.jdbc.database

import org.apache.spark.sql.types.StructField

import io.epochal.core.ledger.Target
import io.epochal.jdbc.option.QualifiedName
import io.epochal.jdbc.row.NulCharacter

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

/** A primary key or unique index that can stand behind an upsert.
  *
  * @param loose
  *   of its columns those that can take for equal what Spark tells apart, and by what: `collation NOCASE`
  */
final case class TargetKey(columns: Set[String], loose: Map[String, String] = Map.empty)

/** A table as found in the database. */
final case class TargetTable(name: QualifiedName, target: Target, columns: Seq[TargetColumn], keys: Seq[TargetKey]) {

  /** A name that no column has, in any case. */
  def unused(name: String): String =
    Iterator.iterate(name)(_ + "_").find(n => !columns.exists(_.name.equalsIgnoreCase(n))).get
}

/** A column of the query and the table's column that takes it.
  *
  * @param ordinal
  *   place in the query's rows
  * @param required
  *   a NULL here is a bad row
  * @param identifies
  *   a row that deletes another has it too: a key, or the order
  */
final case class BoundColumn(
    field: StructField,
    ordinal: Int,
    column: TargetColumn,
    required: Boolean,
    identifies: Boolean = false)

/** How rows go into the table, in the table's spelling of names. */
sealed trait WriteMode

object WriteMode {
  case object Append extends WriteMode

  /** @param keys
    *   in the order of the table's columns: all sinks then take a table's rows in one order
    * @param loose
    *   of them those that the database compares less strictly than Spark, and by what; empty unless that is accepted
    * @param order
    *   of rows with the same key the greatest wins; None: there must be none
    * @param updated
    *   the columns that a row of the same key replaces; never empty
    * @param operation
    *   None: no row deletes
    */
  final case class Upsert(
      keys: Seq[String],
      order: Option[String],
      updated: Seq[String],
      operation: Option[OperationColumn],
      loose: Map[String, String] = Map.empty)
      extends WriteMode
}

/** The column of the query that says what a row does. Rows carry it to the database as one more column, a boolean: whether
  * the row deletes.
  *
  * @param ordinal
  *   place in the query's rows
  * @param name
  *   of that boolean; no column of the table has it
  */
final case class OperationColumn(ordinal: Int, name: String)

/** A query's columns bound to a table: all that a load has to know.
  *
  * @param columns
  *   in the order of the query's rows
  * @param nulCharacter
  *   what becomes of the NUL character in texts
  * @param added
  *   names and types of columns that the table gets with the first epoch
  * @param deadLetters
  *   the table that takes bad rows
  * @param shape
  *   the types of the table's columns when the rows were bound to them
  * @param trustedOwners
  *   see [[Trust]]
  */
final case class BoundTable(
    table: TargetTable,
    columns: Seq[BoundColumn],
    mode: WriteMode,
    nulCharacter: NulCharacter = NulCharacter.Error,
    added: Seq[(String, String)] = Nil,
    deadLetters: Option[QualifiedName] = None,
    shape: String = "",
    trustedOwners: Seq[String] = Nil) {
  def trust: Trust = Trust(table.name, trustedOwners)

  def columnNames: Seq[String] = columns.map(_.column.name)

  def operation: Option[OperationColumn] = mode match {
    case upsert: WriteMode.Upsert => upsert.operation
    case WriteMode.Append         => None
  }

  /** The columns of the rows as tasks encode them: the table's, then whether the row deletes. */
  def incoming: Seq[String] = columnNames ++ operation.map(_.name)
}

/** Whom the sink trusts with the tables that it keeps beside a target (K19).
  *
  * @param owners
  *   roles that the user names, beside those who could act as the sink's own role anyway
  */
final case class Trust(target: QualifiedName, owners: Seq[String])
