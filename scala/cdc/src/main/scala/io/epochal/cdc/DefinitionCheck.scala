package io.epochal.cdc

import java.sql.Connection

import io.epochal.cdc.change.OnSchemaChange
import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.pgoutput.RelationColumn
import io.epochal.cdc.slot.CaptureServer
import io.epochal.cdc.value.CatalogColumns
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.database.{PostgresColumn, PostgresType}

/** Refuses definitions of a table whose rows do not fit the query: TABLE_CHANGED.
  *
  * @param of
  *   the table, as the query was planned
  */
final private[cdc] class DefinitionCheck(
    options: CdcOptions,
    server: CaptureServer,
    of: CdcTable,
    watch: Option[CatalogWatch]) {
  import DefinitionCheck._

  private val table = of.facts

  /** Refuses a definition in the stream, unless the query adopts it.
    *
    * @param before
    *   the definition that was accepted last
    */
  def check(relation: Relation, before: Option[Relation], publication: String): Unit = {
    val plannedColumns = columnsOf(of)
    // Columns that were added since the query was planned: the next start delivers them.
    val newColumns = relation.columns.filterNot(column =>
      plannedColumns.exists(one => one.name == column.name && (one.widens(column) || column.widens(one))))
    val acceptedColumns = before.fold(relation.columns.diff(newColumns))(_.columns)
    val all = ColumnChanges.of(acceptedColumns, relation.columns)
    def isRead(column: RelationColumn) = watch.forall(_.reads(table.oid, column.name))
    val changes = ColumnChanges(
      all.added.filter(column =>
        if (acceptedColumns.exists(_.name == column.name)) isRead(column)
        else options.onSchemaChange == OnSchemaChange.Fail || newColumns.contains(column)),
      all.lacking.filter(isRead))
    // A column that was dropped again is no change.
    def exists(column: RelationColumn) = now.exists(_.name == column.name)
    lazy val now = server.look(CatalogColumns.of(_, Seq(table.oid), Some(publication)))(table.oid)
    if (changes.lacking.nonEmpty || changes.added.exists(exists)) throw tableChanged(changes)
    checkIdentity(relation)
  }

  /** Whether a definition has the columns that the query was planned with. */
  def isPlanned(relation: Relation): Boolean = {
    def bare(columns: Seq[RelationColumn]) = columns.map(_.copy(isKey = false)).toSet
    bare(relation.columns) == bare(columnsOf(of))
  }

  /** How the table's columns differ from those that the query was planned with; None: those that it reads do not.
    *
    * @param isRead
    *   whether it reads a column
    */
  def difference(now: Seq[PostgresColumn])(isRead: String => Boolean): Option[ColumnChanges] = {
    def read(columns: Seq[PostgresColumn]) = columnsOf(of.copy(columns = columns.filter(one => isRead(one.name))))
    val (before, after) = (read(of.columns), read(now))
    val composites = before.intersect(after).filter { column =>
      val kinds = Seq(of.columns, now).flatMap(_.find(_.name == column.name)).map(one => bare(one.kind))
      kinds.distinct.size > 1
    }
    val changes = ColumnChanges(after.diff(before) ++ composites, before.diff(after) ++ composites)
    Option.when(changes.added.nonEmpty || changes.lacking.nonEmpty)(changes)
  }

  /** The shape of a type, without the labels of enums. */
  private def bare(kind: PostgresType): PostgresType.Shape = kind.shape match {
    case PostgresType.Elements(element, _) => bare(element)
    case PostgresType.Fields(fields) =>
      PostgresType.Fields(fields.map { case (name, one) =>
        name -> PostgresType(one.name, one.modifier, "", bare(one))
      })
    case _ => PostgresType.Plain
  }

  /** Refuses changes without the old values that the columns of the query promise. An identity without columns permits no update. */
  def checkIdentity(relation: Relation): Unit = {
    val keyColumns = relation.columns.filter(_.isKey).map(_.name)
    val isKept = if (options.preimages) relation.identity == 'f' else table.followed.forall(keyColumns.contains)
    if (keyColumns.nonEmpty && !isKept) {
      val before = if (options.preimages) "FULL" else table.followed.mkString(", ")
      throw Conditions.TableChanged.withHint(
        "Load the table again: start the query with a new checkpoint, and key a replica by the columns of the new identity.")(
        "table" -> table.name,
        "change" -> s"the replica identity is ${keyColumns.mkString(", ")} instead of $before")
    }
  }

  /** Refuses the columns of a table that lack some that the query reads. */
  def checkReadable(columns: Seq[PostgresColumn]): Unit = {
    val changes = ColumnChanges.of(columnsOf(of), columnsOf(of.copy(columns = columns)))
    val lacking = changes.lacking.filter(column => watch.forall(_.reads(table.oid, column.name)))
    if (lacking.nonEmpty) throw tableChanged(changes.copy(lacking = lacking))
  }

  /** Refuses to copy rows of a table that has changed: an added column would be lost. */
  def checkUnchanged(connection: Connection, publication: String): Unit = {
    val now = CatalogColumns.of(connection, Seq(table.oid), Some(publication))(table.oid)
    val changes = ColumnChanges.of(columnsOf(of), columnsOf(of.copy(columns = now)))
    if (changes.added.nonEmpty || changes.lacking.nonEmpty) throw tableChanged(changes)
  }

  private def tableChanged(changes: ColumnChanges): EpochalException =
    if (watch.exists(_.follows)) Conditions.QueryOutdated("change" -> s"${table.name} ($changes)")
    else Conditions.TableChanged("table" -> table.name, "change" -> changes)
}

private[cdc] object DefinitionCheck {

  /** The columns as the server would define them. */
  def columnsOf(of: CdcTable): Seq[RelationColumn] = of.columns.map(column =>
    RelationColumn(column.name, of.facts.primaryKey.contains(column.name), column.kind.oid.toInt, column.modifier))
}

/** Columns that differ between two definitions of a table, by name and type. A type that got wider is no difference. */
final private case class ColumnChanges(added: Seq[RelationColumn], lacking: Seq[RelationColumn]) {

  override def toString: String = {
    val retypedColumns = lacking.map(_.name).intersect(added.map(_.name))
    def list(what: String, names: Seq[String]) = Option.when(names.nonEmpty)(s"$what ${names.mkString(", ")}")
    Seq(
      list("another type of", retypedColumns),
      list("without", lacking.map(_.name).diff(retypedColumns)),
      list("with", added.map(_.name).diff(retypedColumns))).flatten.mkString(", ")
  }
}

private object ColumnChanges {

  def of(before: Seq[RelationColumn], now: Seq[RelationColumn]): ColumnChanges = {
    def isKept(old: RelationColumn, current: RelationColumn) = old.name == current.name && current.widens(old)
    ColumnChanges(
      now.filterNot(column => before.exists(isKept(_, column))),
      before.filterNot(column => now.exists(isKept(column, _))))
  }
}
