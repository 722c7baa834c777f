package io.epochal.jdbc.database

import org.apache.spark.sql.types.StructField

import io.epochal.core.ledger.Target
import io.epochal.jdbc.row.{CharacterSet, NulCharacter}
import io.epochal.kit.database.QualifiedName

/** A column's type as its dialect knows it. */
trait ColumnType extends Serializable {

  /** As it would be declared in SQL: `numeric(10,2)`. */
  def declared: String
}

/** A column of the target.
  *
  * @param nullable
  *   false also if the database takes a NULL but stores something else (SQLite's `INTEGER PRIMARY KEY`)
  * @param filled
  *   the database supplies a value if a row has none
  * @param generated
  *   always computed by the database: no row can supply a value
  * @param remedy
  *   the statement after which rows can supply the values of a generated column, if there is one
  */
final case class TargetColumn(
    name: String,
    columnType: ColumnType,
    nullable: Boolean,
    filled: Boolean,
    generated: Boolean,
    remedy: Option[String] = None
)

/** A primary key or unique index that an upsert can use.
  *
  * @param loose
  *   the columns that may treat as equal values that Spark distinguishes, each with the reason: `collation NOCASE`
  */
final case class TargetKey(columns: Set[String], loose: Map[String, String] = Map.empty)

object TargetKey {

  /** @param columns
    *   of all unique indexes: the index, the column's name (None: a part or an expression), and why it is loose
    */
  def ofIndexes(columns: Seq[(String, Option[String], Option[String])]): Seq[TargetKey] =
    columns.groupBy(_._1).values.toSeq.filter(_.forall(_._2.isDefined)).map { index =>
      val loose = index.collect { case (_, Some(name), Some(reason)) => name -> reason }
      TargetKey(index.flatMap(_._2).toSet, loose.toMap)
    }
}

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

/** A column of the query and the table's column that takes it.
  *
  * @param ordinal
  *   index in the query's rows
  * @param required
  *   a NULL here is a bad row
  * @param identifies
  *   present also in a row that deletes: a key, or the order
  */
final case class BoundColumn(
    field: StructField,
    ordinal: Int,
    column: TargetColumn,
    required: Boolean,
    identifies: Boolean = false)

/** How rows go into the table; names are spelled as in the table. */
sealed trait WriteMode

object WriteMode {
  case object Append extends WriteMode

  /** @param keys
    *   in the order of the table's columns, so that all sinks process a table's rows in one order
    * @param loose
    *   the keys that the database compares less strictly than Spark, each with the reason; empty unless the user accepted that
    * @param order
    *   among rows of the same key the greatest wins; None: keys must be unique within an epoch
    * @param updated
    *   the columns that a row of the same key updates; never empty
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

/** The query's column that says whether a row stores or deletes. Encoded rows carry it to the database as one more column, a
  * boolean: whether the row deletes.
  *
  * @param ordinal
  *   index in the query's rows
  * @param name
  *   of that boolean; no column of the table has this name
  * @param feed
  *   further columns, if the query is a change feed
  */
final case class OperationColumn(ordinal: Int, name: String, feed: Option[FeedColumns] = None) {

  /** The columns of encoded rows that follow those of the table. */
  def names: Seq[String] = name +: feed.toSeq.flatMap(columns => Seq(columns.versionName, columns.unchangedName))
}

/** A change feed: rows with `_change_type`, `_commit_version` and perhaps `_unchanged_columns`, as `epochal-cdc` and Delta deliver
  * them. The image before an update deletes: the key may change. In encoded rows, a row that deletes without a key empties the
  * table.
  *
  * @param width
  *   number of columns of the query's rows
  * @param version
  *   index of the version in them
  * @param unchanged
  *   index of the list of the columns that the row does not have
  * @param versionName
  *   of the version in encoded rows, a text that sorts by its bytes
  * @param unchangedName
  *   of those columns in encoded rows: a text with [[FeedColumns.mark]] of each, or NULL
  */
final case class FeedColumns(
    width: Int,
    version: Int,
    unchanged: Option[Int],
    versionName: String,
    unchangedName: String)

object FeedColumns {
  val ChangeType = "_change_type"
  val Version = "_commit_version"
  val Timestamp = "_commit_timestamp"
  val Unchanged = "_unchanged_columns"
  val all: Seq[String] = Seq(ChangeType, Version, Timestamp, Unchanged)

  /** Where a column of the query stands in the text of those that a row does not have. */
  def mark(column: String): String = s"\n$column\n"
}

/** A query's columns bound to a table: everything that a load needs.
  *
  * @param columns
  *   in the order of the query's rows
  * @param nulCharacter
  *   how NUL characters in texts are handled
  * @param added
  *   names and types of columns that are added with the first epoch
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

  /** The columns of encoded rows: the table's, then those of the operation. */
  def incoming: Seq[String] = columnNames ++ operation.toSeq.flatMap(_.names)

  /** The number of columns of the query's rows. */
  def width: Int = operation.flatMap(_.feed).fold(incoming.size)(_.width)
}

/** The roles that the sink trusts to own the tables beside a target.
  *
  * @param owners
  *   roles that the user named, in addition to those that could act as the sink's own role anyway
  */
final case class Trust(target: QualifiedName, owners: Seq[String])
