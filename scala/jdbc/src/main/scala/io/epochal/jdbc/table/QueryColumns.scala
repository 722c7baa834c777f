package io.epochal.jdbc.table

import org.apache.spark.sql.types.{ArrayType, StructField, StructType}

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{NameList, OptionGroup, OptionSpec}
import io.epochal.jdbc.database.FeedColumns
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.jdbc.row.Texts
import io.epochal.kit.record.{ReplicaKey, SourceColumn}

/** A column of the query that goes into the table.
  *
  * @param ordinal
  *   index in the query's rows
  * @param into
  *   the table's column, as spelled in the query or in `columnMap`
  */
final private[jdbc] case class QueryColumn(field: StructField, ordinal: Int, into: String)

/** The query's columns according to the options, before any table is inspected.
  *
  * @param stored
  *   all columns but the operation, in order
  * @param updated
  *   empty: all but the keys
  * @param operation
  *   index of the operation column in the query's rows
  * @param feed
  *   the further columns of a change feed, given the names that they get in encoded rows
  */
final private[jdbc] case class QueryColumns(
    stored: Seq[QueryColumn],
    keys: Seq[QueryColumn],
    order: Option[QueryColumn],
    updated: Seq[QueryColumn],
    operation: Option[Int],
    feed: Option[(String, String) => FeedColumns] = None
) {

  /** A copy without the given columns. Keys stay, so that a missing key is reported. */
  def without(absent: Set[String]): QueryColumns = {
    def present(column: QueryColumn): Boolean = !absent(column.into)
    copy(stored = stored.filter(present), order = order.filter(present), updated = updated.filter(present))
  }
}

private[jdbc] object QueryColumns {
  type Checked[A] = Either[EpochalException, A]

  def of(schema: StructType, options: JdbcOptions): Checked[QueryColumns] = {
    val fields = schema.fields.toSeq
    for {
      feed <- feed(fields, options)
      operation <- feed.fold(
        all(options.opColumn.toSeq)(find(JdbcOptions.OpColumn, _, fields)(_.name)).map(_.headOption))(own =>
        Right(Some(own(FeedColumns.ChangeType))))
      _ <- all(operation.toSeq)(f => JdbcOptions.ensure(Texts.is(f.dataType))(notText(f)))
      special = feed.fold(operation.toSet)(_.values.toSet)
      others = fields.filterNot(special)
      map <- all(options.columnMap) { case (from, to) =>
        find(JdbcOptions.ColumnMap, from, others, listing(options.columnMap, from))(_.name).map(_ -> to)
      }
      stored = fields.zipWithIndex
        .filterNot { case (field, _) => special(field) }
        .map { case (field, i) => QueryColumn(field, i, map.find(_._1 == field).fold(field.name)(_._2)) }
      _ <- distinct(stored.map(column => column.into -> column.field))(into => s"'$into'")
      keys <- all(options.keyColumns)(listedColumn(JdbcOptions.KeyColumns, options.keyColumns, _, stored))
      knowsLeftOut = feed.exists(_.contains(FeedColumns.Unchanged))
      _ <- SourceColumn
        .obstacle(fields.filter(_ => options.upsert && !knowsLeftOut), FeedColumns.Unchanged)
        .map(JdbcOptions.unsupported("keep a replica", _, leavesOut))
        .toLeft(())
      _ <- ReplicaKey.refusal(keys.map(_.field), usesImages = feed.nonEmpty).filter(_ => options.changes).toLeft(())
      order <- all(options.orderColumn.toSeq)(find(JdbcOptions.OrderColumn, _, stored)(_.field.name))
      updated <- all(options.updateColumns)(listedColumn(JdbcOptions.UpdateColumns, options.updateColumns, _, stored))
      _ <- JdbcOptions.ensure(updated.intersect(keys).isEmpty)(keysAreUpdated(updated.intersect(keys)))
    } yield QueryColumns(
      stored,
      keys,
      order.headOption,
      updated.distinct,
      operation.map(fields.indexOf),
      feed.map { own => (version, unchanged) =>
        FeedColumns(
          fields.size,
          fields.indexOf(own(FeedColumns.Version)),
          own.get(FeedColumns.Unchanged).map(fields.indexOf),
          version,
          unchanged)
      }
    )
  }

  /** The columns of a change feed by their names, with `mode=changes` and no column for the operation. */
  private def feed(fields: Seq[StructField], options: JdbcOptions): Checked[Option[Map[String, StructField]]] =
    if (!options.changes || options.opColumn.nonEmpty) Right(None)
    else {
      val own = fields.filter(field => FeedColumns.all.contains(field.name)).map(field => field.name -> field).toMap
      for {
        _ <- JdbcOptions.ensure(Seq(FeedColumns.ChangeType, FeedColumns.Version).forall(own.contains))(noOperation)
        _ <- JdbcOptions.ensure(
          own.get(FeedColumns.Version).forall(f => Texts.is(f.dataType)) &&
            own
              .get(FeedColumns.Unchanged)
              .forall(_.dataType match {
                case ArrayType(of, _) => Texts.is(of)
                case _                => false
              }))(noOperation)
        _ <- JdbcOptions.ensure(options.orderColumn.isEmpty)(
          JdbcOptions.group.conflict(
            s"{option:orderColumn} and the column ${FeedColumns.Version}",
            s"The rows of a change feed are ordered by ${FeedColumns.Version}: leave {option:orderColumn} out."))
      } yield Some(own)
    }

  private def leavesOut: String =
    s"Set {option:mode=changes} without {option:opColumn}, and select ${FeedColumns.Unchanged}, too."

  private def noOperation: EpochalException = OptionGroup.missing(
    JdbcOptions.Format,
    JdbcOptions.OpColumn,
    "with {option:mode=changes} the column that says what a row does, unless the query has _change_type and _commit_version")

  /** Finds a column by its exact name, or else by the only name that differs in case. */
  def find[A](name: String, candidates: Seq[A])(of: A => String): Option[A] =
    candidates
      .find(of(_) == name)
      .orElse(candidates.filter(of(_).equalsIgnoreCase(name)) match {
        case Seq(only) => Some(only)
        case _         => None
      })

  def all[A, B](values: Seq[A])(check: A => Checked[B]): Checked[Seq[B]] =
    values.foldLeft[Checked[Vector[B]]](Right(Vector.empty))((done, value) =>
      done.flatMap(d => check(value).map(d :+ _)))

  /** @param whole
    *   the option's full text, given a replacement for this name
    */
  private def find[A](option: OptionSpec[_], name: String, candidates: Seq[A], whole: String => String = identity)(
      of: A => String): Checked[A] =
    find(name, candidates)(of).toRight {
      val names = candidates.map(of)
      JdbcOptions.group.invalid(option, name, s"one of the query's columns ${NameList.shown(names)}", names, whole)
    }

  private def listedColumn(
      option: OptionSpec[_],
      names: Seq[String],
      name: String,
      stored: Seq[QueryColumn]): Checked[QueryColumn] =
    find(option, name, stored, right => NameList.render(names.map(one => if (one == name) right else one)))(
      _.field.name)

  private def listing(all: Seq[(String, String)], wrong: String)(right: String): String =
    pairs(all.map { case (from, to) => (if (from == wrong) right else from, to) })

  /** The value of `columnMap`. */
  def pairs(names: Seq[(String, String)]): String =
    names
      .map { case (from, to) => Seq(from, to).map(name => NameList.render(Seq(name))).mkString(":") }
      .mkString(",")

  private def notText(field: StructField): EpochalException = JdbcOptions.group
    .invalid(JdbcOptions.OpColumn, s"${field.name} ${field.dataType.sql}", "a column of type STRING")

  /** Refuses several columns of the query that map to one of the table's. */
  def distinct(columns: Seq[(String, StructField)])(shown: String => String): Checked[Unit] =
    columns
      .groupMap(_._1)(_._2)
      .collectFirst { case (into, fields) if fields.sizeIs > 1 => collide(fields, shown(into)) }
      .toLeft(())

  private def collide(fields: Seq[StructField], into: String): EpochalException = JdbcOptions.group.conflict(
    fields.map(field => s"column '${field.name}'").mkString(", "),
    s"They all map to the column $into: rename or drop all but one.")

  private def keysAreUpdated(keys: Seq[QueryColumn]): EpochalException = JdbcOptions.group.conflict(
    s"{option:keyColumns} and {option:updateColumns} with ${keys.map(_.field.name).mkString(", ")}",
    "A row is found by its keys, which stay as they are: leave them out of {option:updateColumns}.")
}
