package io.epochal.spark.sink.jdbc

import java.sql.Connection

import org.apache.spark.sql.types.{StructField, StructType}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.Nearest

/** Whether a query's rows can go into a table. Runs before the query starts, and again when a run claims the sink. */
final private[jdbc] class TableCheck(dialect: Dialect, options: JdbcOptions) {

  type Checked[A] = Either[EpochalException, A]

  private val place = options.connection.place

  /** The table with the query's columns bound to it. */
  def bind(schema: StructType, table: TargetTable): Checked[BoundTable] =
    for {
      columns <- all(schema.fields.toSeq.zipWithIndex) { case (field, i) => column(field, i, table) }
      _ <- distinct(columns, table)
      _ <- all(table.columns.filterNot(c => c.nullable || c.filled || columns.exists(_.column == c)))(c =>
        Left[EpochalException, Unit](Conditions.ColumnRequired("table" -> table.name, "column" -> c.name)))
      mode <- mode(columns, table)
    } yield BoundTable(
      table,
      columns.map(c => c.copy(required = c.required || isKey(mode, c))),
      mode,
      options.nulCharacter)

  /** The same for a table that is still to be made. */
  def bindNew(schema: StructType): Checked[Unit] =
    for {
      _ <- all(schema.fields.toSeq)(field => declared(field).map(_ => ()))
      _ <- all(options.keyColumns ++ options.orderColumn)(name => ofQuery(name, schema.fields.toSeq))
    } yield ()

  /** CREATE TABLE for the query's rows; keys become the primary key. */
  def create(schema: StructType, name: QualifiedName): Checked[String] =
    for {
      columns <- all(schema.fields.toSeq)(f => declared(f).map(kind => s"${dialect.quote(f.name)} $kind"))
      keys <- all(options.keyColumns)(ofQuery(_, schema.fields.toSeq))
    } yield {
      val notNull =
        columns.zip(schema.fields).map { case (sql, field) => if (keys.contains(field)) s"$sql NOT NULL" else sql }
      val primary = Option.when(keys.nonEmpty)(s"PRIMARY KEY (${keys.map(k => dialect.quote(k.name)).mkString(", ")})")
      s"CREATE TABLE ${dialect.quote(name)} (${(notNull ++ primary).mkString(", ")})"
    }

  def missing(connection: Option[Connection]): EpochalException = {
    val near = connection.flatMap(c => Nearest.of(options.table.table.text, dialect.tableNames(c, options.table)))
    Conditions.TableMissing(
      "table" -> options.table,
      "url" -> place,
      "nearest" -> near.fold("")(name => s" (there is '$name')"))
  }

  private def declared(field: StructField): Checked[String] =
    dialect.declare(field.dataType).toRight(unsupported(field))

  private def unsupported(field: StructField): EpochalException =
    Conditions.TypeUnsupported("column" -> field.name, "sparkType" -> field.dataType.sql, "database" -> dialect.name)

  /** By the exact name, else by the only one that differs in case. */
  private def column(field: StructField, ordinal: Int, table: TargetTable): Checked[BoundColumn] =
    for {
      column <- named(field.name, table.columns)(_.name).toRight(
        Conditions.ColumnMissing(
          "column" -> field.name,
          "table" -> table.name,
          "columns" -> table.columns.map(_.name).mkString(", ")))
      _ <- declared(field)
      _ <- Either.cond(
        !column.generated,
        (),
        mismatch(field, table, s"${column.columnType.declared}, always generated", None))
      _ <- dialect
        .fits(field.dataType, column.columnType)
        .left
        .map(mismatch(field, table, column.columnType.declared, _))
    } yield BoundColumn(field, ordinal, column, required = !column.nullable)

  private def mismatch(
      field: StructField,
      table: TargetTable,
      kind: String,
      suggestion: Option[String]): EpochalException =
    Conditions.ColumnTypeMismatch(
      "column" -> field.name,
      "sparkType" -> field.dataType.sql,
      "table" -> table.name,
      "columnType" -> kind,
      "suggestion" -> suggestion.getOrElse("<a type of that column>"))

  private def distinct(columns: Seq[BoundColumn], table: TargetTable): Checked[Unit] =
    columns.groupBy(_.column.name).collectFirst { case (name, several) if several.size > 1 => (name, several) } match {
      case None => Right(())
      case Some((name, several)) =>
        Left(
          Conditions.OptionsConflict(
            "format" -> JdbcOptions.Format,
            "options" -> several.map(c => s"column '${c.field.name}'").mkString(", "),
            "suggestion" -> s"They all go into the column '$name' of ${table.name}: rename or drop all but one."))
    }

  private def mode(columns: Seq[BoundColumn], table: TargetTable): Checked[WriteMode] =
    if (!options.upsert) Right(WriteMode.Append)
    else
      for {
        keys <- all(options.keyColumns)(bound(_, columns))
        names = keys.map(_.column.name)
        _ <- Either.cond(
          table.keys.contains(names.toSet),
          (),
          Conditions.KeyNotUnique("table" -> table.name, "columns" -> names.mkString(", ")))
        order <- all(options.orderColumn.toSeq)(bound(_, columns))
        _ <- all(order)(o => Either.cond(dialect.sorts(o.field.dataType, o.column.columnType), (), unsortable(o)))
      } yield WriteMode.Upsert(names.distinct, order.headOption.map(_.column.name))

  private def isKey(mode: WriteMode, column: BoundColumn): Boolean = mode match {
    case WriteMode.Upsert(keys, _) => keys.contains(column.column.name)
    case WriteMode.Append          => false
  }

  private def unsortable(column: BoundColumn): EpochalException = Conditions.ModeUnsupported(
    "format" -> JdbcOptions.Format,
    "mode" -> s"order rows by '${column.field.name}'",
    "reason" -> s"${dialect.name} does not sort a column of type ${column.column.columnType.declared} as Spark sorts a ${column.field.dataType.sql}",
    "suggestion" -> "Name a column of whole numbers or times in orderColumn.")

  private def bound(name: String, columns: Seq[BoundColumn]): Checked[BoundColumn] =
    ofQuery(name, columns.map(_.field)).map(field => columns.find(_.field eq field).get)

  private def ofQuery(name: String, fields: Seq[StructField]): Checked[StructField] =
    named(name, fields)(_.name).toRight(
      Conditions.OptionInvalid(
        "option" -> (if (options.keyColumns.contains(name)) "keyColumns" else "orderColumn"),
        "format" -> JdbcOptions.Format,
        "value" -> name,
        "expected" -> "a column of the query",
        "example" -> fields.headOption.fold("id")(_.name)))

  private def named[A](name: String, candidates: Seq[A])(of: A => String): Option[A] =
    candidates
      .find(of(_) == name)
      .orElse(candidates.filter(of(_).equalsIgnoreCase(name)) match {
        case Seq(only) => Some(only)
        case _         => None
      })

  private def all[A, B](values: Seq[A])(check: A => Checked[B]): Checked[Seq[B]] =
    values.foldLeft[Checked[Vector[B]]](Right(Vector.empty))((done, value) =>
      done.flatMap(d => check(value).map(d :+ _)))
}
