package io.epochal.rest.sink

import org.apache.spark.sql.types._

import io.epochal.core.option.OptionGroup
import io.epochal.kit.record.{ReplicaKey, SourceColumn}
import io.epochal.rest.sink.RestSinkOptions.{Format, group}

/** A change feed's columns.
  *
  * @param operation
  *   of type STRING
  * @param unchangedList
  *   the list of the columns that a row does not have
  * @param record
  *   the columns of bodies
  * @param entity
  *   the key columns; all changes of a row have the same values
  * @param keys
  *   what identifies a change: the key columns, its version and operation. Ascending values are the order of changes
  * @param delete
  *   a row that deletes, as sent in the body
  * @param deleteUrl
  *   None: rows that delete are sent in the body
  */
final private[rest] case class ChangeShape(
    operation: NamedColumn,
    unchangedList: Option[NamedColumn],
    record: Seq[NamedColumn],
    entity: Seq[NamedColumn],
    keys: Seq[NamedColumn],
    delete: Seq[RowPiece],
    deleteUrl: Option[Seq[NamedColumn]],
    createUrl: Seq[NamedColumn])

/** Names are those of `epochal-cdc`, of Delta's change feed and of `epochal-jdbc`. */
private[rest] object ChangeShape {
  import RequestShape.{Check, all, find, inUrl, piece, scalar}

  val ChangeType = "_change_type"
  val Version = "_commit_version"
  val Unchanged = "_unchanged_columns"
  private val Own = Set(ChangeType, Version, "_commit_timestamp", Unchanged)

  def of(changes: ChangeSettings, schema: StructType, entity: Seq[NamedColumn]): Check[ChangeShape] = {
    val columns = schema.fields.toSeq.zipWithIndex.map { case (field, i) => NamedColumn(field, i) }
    def columnNamed(name: String) = columns.find(_.field.name == name)
    for {
      operation <- changes.operation match {
        case Some(name) => find(ChangeOptions.OpColumn, name, schema, identity)
        case None =>
          columnNamed(ChangeType).toRight(
            OptionGroup.missing(
              Format,
              ChangeOptions.OpColumn,
              s"with {option:mode=changes} the column that says what a row does, unless the query has $ChangeType"))
      }
      _ <- RestSinkOptions.ensure(operation.field.dataType.isInstanceOf[StringType])(
        group.invalid(
          ChangeOptions.OpColumn,
          s"${operation.field.name} ${operation.field.dataType.sql}",
          "a column of type STRING"))
      version = columnNamed(Version)
      _ <- RestSinkOptions.ensure(entity.isEmpty || version.nonEmpty)(
        group.conflict(
          "{option:keyColumns}, {option:mode=changes}",
          s"The changes of a row have the same {option:keyColumns}, and differ in $Version, which the query lacks: add that column, or leave {option:keyColumns} out."
        ))
      versionColumns <- all(version.filter(_ => entity.nonEmpty).toSeq)(column =>
        scalar(RestSinkOptions.KeyColumns, column.field.name, schema, identity))
      delete <- all(changes.deleteTemplate)(piece(ChangeOptions.DeleteTemplate, _, schema))
      deleteUrl <- all(changes.deletes.toSeq.flatMap(_.template.columns))(
        scalar(ChangeOptions.DeleteUrl, _, schema, inUrl))
      createUrl <- all(changes.upsert.toSeq.flatMap(_.create.template.columns))(
        scalar(ChangeOptions.CreateUrl, _, schema, inUrl))
      _ <- SourceColumn
        .obstacle(columns.map(_.field).filterNot(_ => columnNamed(Unchanged).isDefined), Unchanged)
        .map(group.unsupported("send changes", _, s"Select $Unchanged, too."))
        .toLeft(())
      _ <- ReplicaKey.refusal((entity ++ deleteUrl).map(_.field), usesImages = false).toLeft(())
    } yield ChangeShape(
      operation,
      columnNamed(Unchanged).filter(_.field.dataType match {
        case ArrayType(_: StringType, _) => true
        case _                           => false
      }),
      columns.filterNot(column => column == operation || Own(column.field.name)),
      entity,
      if (entity.isEmpty) Nil else (entity ++ versionColumns :+ operation).distinct,
      delete,
      changes.deletes.map(_ => deleteUrl),
      createUrl
    )
  }
}
