package io.epochal.jdbc.table

import java.nio.charset.StandardCharsets
import java.sql.Connection

import org.apache.spark.sql.types._

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.Nearest
import io.epochal.jdbc.database._
import io.epochal.jdbc.option.{JdbcOptions, QualifiedName, TransportChoice}
import io.epochal.jdbc.table.QueryColumns.Checked
import io.epochal.kit.sink.NewTypes

/** Checks whether a query's rows fit a table. Runs before the query starts, and again when a run claims the sink. */
final private[jdbc] class TableCheck(dialect: Dialect, options: JdbcOptions, schema: StructType) {
  import JdbcOptions.noTransport
  import QueryColumns.{all, distinct, find}

  private lazy val queried = QueryColumns.of(schema, options)

  /** Binds the query's columns to the table. */
  def bind(table: TargetTable): Checked[BoundTable] = queried.flatMap(bind(_, table))

  /** Same check before the start, when columns that the first epoch adds may still be missing. */
  def check(table: TargetTable): Checked[Unit] =
    for {
      query <- queried
      added <- added(table)
      _ <- bind(query.without(added.map(_._1).toSet), table)
    } yield ()

  /** Names and types of columns to add to the table. */
  def added(table: TargetTable): Checked[Seq[(String, String)]] =
    if (!options.addColumns) Right(Nil)
    else if (!dialect.abilities.altersInTransaction)
      Left(
        JdbcOptions.unsupported(
          "add columns",
          "its ALTER TABLE is not part of a transaction",
          "Add them with ALTER TABLE before the start."))
    else if (options.transport == TransportChoice.Prepared)
      Left(
        JdbcOptions.unsupported("add columns with {option:transport=prepared}", "its tasks write first", noTransport))
    else
      for {
        query <- queried
        absent = query.stored.filter(column => find(column.into, table.columns)(_.name).isEmpty)
        added <- all(absent)(column => declared(column.field).map(column.into -> _))
        _ <- all(added.map(_._1))(nameable)
      } yield added

  private def bind(query: QueryColumns, table: TargetTable): Checked[BoundTable] =
    for {
      columns <- all(query.stored)(column(_, table))
      _ <- distinct(columns.map(bound => bound.column.name -> bound.field))(name => s"'$name' of ${table.name}")
      _ <- all(table.columns.filterNot(c => c.nullable || c.filled || columns.exists(_.column == c)))(c =>
        Left[EpochalException, Unit](Conditions.ColumnRequired("table" -> table.name, "column" -> c.name)))
      mode <- mode(query, columns, table)
    } yield BoundTable(table, columns.map(identified(mode, _)), mode, options.nulCharacter)

  /** Same check for a table that is yet to be created. */
  def bindNew(connection: Option[Connection]): Checked[Unit] =
    create(QualifiedName("", options.table.table.text), connection).map(_ => ())

  /** CREATE TABLE for the query's rows; keys become the primary key. */
  def create(name: QualifiedName, connection: Option[Connection]): Checked[String] = {
    def keyType(dataType: DataType): Option[String] =
      connection.fold(dialect.types.declareKey(dataType))(dialect.types.declareKey(_, dataType))
    def definition(query: QueryColumns)(column: QueryColumn): Checked[String] = {
      val field = column.field
      val kind =
        if (query.keys.contains(column)) keyType(field.dataType).map(_ + " NOT NULL").toRight(unsupported(field))
        else declared(field)
      kind.map(sql => s"${dialect.quote(column.into)} $sql")
    }
    for {
      query <- queried
      _ <- TableCheck.nameable(dialect, name.table, "{option:dbtable=shorter_name}")
      _ <- all(query.stored.map(_.into))(nameable)
      columns <- all(query.stored)(definition(query))
    } yield {
      val primary = Option.when(query.keys.nonEmpty)(
        s"PRIMARY KEY (${query.keys.distinct.map(k => dialect.quote(k.into)).mkString(", ")})")
      s"CREATE TABLE ${dialect.quote(name)} (${(columns ++ primary).mkString(", ")})"
    }
  }

  def missing(connection: Option[Connection]): EpochalException = {
    val near =
      connection.flatMap(c => Nearest.of(options.table.table.text, dialect.catalog.tableNames(c, options.table)))
    Conditions.TableMissing(
      "table" -> options.table,
      "url" -> options.connection.place,
      "nearest" -> near.fold("")(name => s" (there is '$name')"))
  }

  private def nameable(name: String): Checked[Unit] =
    TableCheck.nameable(dialect, name, "{option:columnMap=query_name:shorter_name}")

  private def declared(field: StructField): Checked[String] =
    dialect.types.declare(field.dataType).toRight(unsupported(field))

  private def unsupported(field: StructField): EpochalException =
    NewTypes.unsupported(field, dialect.name)

  private def column(query: QueryColumn, table: TargetTable): Checked[BoundColumn] = {
    val field = query.field
    for {
      column <- find(query.into, table.columns)(_.name).toRight(absent(query, table))
      _ <- declared(field)
      _ <- JdbcOptions.ensure(!column.generated)(
        mismatch(
          field,
          table,
          s"${column.columnType.declared}, always generated by the database",
          s"Leave it out of the query: .drop('${field.name}')."))
      _ <- dialect.types
        .fits(field.dataType, column.columnType)
        .left
        .map(kind => mismatch(field, table, column.columnType.declared, cast(field, column, kind)))
    } yield BoundColumn(field, query.ordinal, column, required = !column.nullable)
  }

  private def absent(query: QueryColumn, table: TargetTable): EpochalException = {
    val name = query.field.name
    val names = table.columns.map(_.name)
    Conditions.ColumnMissing(
      "column" -> name,
      "mapped" -> (if (query.into == name) "" else s" as '${query.into}'"),
      "table" -> table.name,
      "columns" -> names.mkString(", "),
      "nearest" -> Nearest.of(query.into, names).fold("")(near => s"=$name:$near"))
  }

  private def mismatch(field: StructField, table: TargetTable, kind: String, suggestion: String): EpochalException =
    Conditions.ColumnTypeMismatch(
      "column" -> field.name,
      "sparkType" -> field.dataType.sql,
      "table" -> table.name,
      "columnType" -> kind,
      "suggestion" -> suggestion)

  private def cast(field: StructField, column: TargetColumn, kind: Option[String]): String = kind match {
    case Some(kind) => s"Cast the column in the query: CAST(${field.name} AS $kind)."
    case None =>
      s"Convert the column in the query to values of type ${column.columnType.declared}, or change the column in the table."
  }

  private def mode(query: QueryColumns, columns: Seq[BoundColumn], table: TargetTable): Checked[WriteMode] = {
    def bound(column: QueryColumn): Option[BoundColumn] = columns.find(_.ordinal == column.ordinal)
    def name(column: QueryColumn): String = bound(column).fold(column.into)(_.column.name)
    if (!options.upsert) Right(WriteMode.Append)
    else {
      val keys = query.keys.map(name).distinct
      val others = columns.map(_.column.name).diff(keys)
      // If all columns are keys, rows must still count as stored: so the keys themselves are updated.
      val updated = if (query.updated.nonEmpty) query.updated.map(name) else if (others.isEmpty) keys else others
      for {
        loose <- compared(keys, columns, table)
        _ <- all(query.order.flatMap(bound).toSeq)(o =>
          JdbcOptions.ensure(dialect.types.sorts(o.field.dataType, o.column.columnType))(unsortable(o)))
        _ <- JdbcOptions.ensure(query.operation.isEmpty || dialect.abilities.deletes)(
          JdbcOptions.unsupported(
            "delete rows",
            s"the sink can only store rows in ${dialect.name}",
            "Leave the deletions out of the query, and use {option:mode=upsert}."))
      } yield WriteMode.Upsert(
        table.columns.map(_.name).filter(keys.contains),
        query.order.map(name),
        updated,
        query.operation.map(OperationColumn(_, table.unused("epochal_deletes"))),
        loose
      )
    }
  }

  /** The key columns that the database compares less strictly than Spark: none, unless accepted by the user. All indexes on these
    * columns count, since a statement that names the columns can use any of them.
    */
  private def compared(
      keys: Seq[String],
      columns: Seq[BoundColumn],
      table: TargetTable): Checked[Map[String, String]] = {
    val found = table.keys.filter(_.columns == keys.toSet)
    val loose = found.flatMap(_.loose).toMap.filter { case (name, _) =>
      columns.exists(c => c.column.name == name && !comparesAlike(c.field.dataType))
    }
    for {
      _ <- JdbcOptions.ensure(found.nonEmpty)(
        Conditions.KeyNotUnique("table" -> table.name, "columns" -> keys.mkString(", ")))
      _ <- loose.toSeq.sorted.headOption
        .filter(_ => options.comparesExactly)
        .map { case (column, comparison) =>
          Conditions.KeyComparisonMismatch(
            "column" -> column,
            "table" -> table.name,
            "comparison" -> comparison,
            "exact" -> dialect.types.exactKey)
        }
        .toLeft(())
    } yield loose
  }

  private def identified(mode: WriteMode, column: BoundColumn): BoundColumn = mode match {
    case upsert: WriteMode.Upsert =>
      val isKey = upsert.keys.contains(column.column.name)
      column.copy(required = column.required || isKey, identifies = isKey || upsert.order.contains(column.column.name))
    case WriteMode.Append => column
  }

  private def unsortable(column: BoundColumn): EpochalException = JdbcOptions.unsupported(
    s"order rows by '${column.field.name}'",
    s"${dialect.name} does not sort a column of type ${column.column.columnType.declared} as Spark sorts a ${column.field.dataType.sql}",
    "Name a column of whole numbers or times in {option:orderColumn}.")

  /** Whether values of the type are equal in every column type exactly if they are in Spark. */
  private def comparesAlike(dataType: DataType): Boolean = dataType match {
    case _: NumericType | BooleanType | BinaryType | DateType | TimestampType | TimestampNTZType => true
    case _                                                                                       => false
  }
}

private[jdbc] object TableCheck {

  /** Refuses a name for a new table or column that the database would refuse, or silently cut.
    *
    * @param instead
    *   the option that gives it another name
    */
  def nameable(dialect: Dialect, name: String, instead: String): Checked[Unit] = {
    val abilities = dialect.abilities
    import abilities.{longestName, namesCountCharacters}
    val (length, unit) =
      if (namesCountCharacters) (name.codePointCount(0, name.length), "characters")
      else (name.getBytes(StandardCharsets.UTF_8).length, "bytes")
    JdbcOptions.ensure(length <= longestName)(
      JdbcOptions.unsupported(
        s"make '$name'",
        s"it has $length $unit, and a name in ${dialect.name} has at most $longestName",
        s"Use a shorter name: $instead."))
  }
}
