package io.epochal.jdbc.table

import java.nio.charset.StandardCharsets
import java.sql.Connection

import scala.util.Try

import org.apache.spark.sql.types._

import io.epochal.core.error.{Condition, Conditions, EpochalException}
import io.epochal.core.option.Nearest
import io.epochal.jdbc.database._
import io.epochal.jdbc.option.{JdbcOptions, TransportChoice}
import io.epochal.jdbc.table.QueryColumns.Checked
import io.epochal.kit.database.{QualifiedName, Sql}
import io.epochal.kit.record.SourceColumn
import io.epochal.kit.sink.NewTypes

/** Checks whether a query's rows fit a table. Runs before the query starts, and again when a run claims the sink. */
final private[jdbc] class TableCheck(dialect: Dialect, options: JdbcOptions, schema: StructType) {
  import JdbcOptions.noTransport
  import QueryColumns.{all, distinct, find}

  private lazy val queryColumns = QueryColumns.of(schema, options)

  /** Binds the query's columns to the table. */
  def bind(table: TargetTable): Checked[BoundTable] = queryColumns.flatMap(bind(_, table))

  /** Same check before the start, when columns are still to be altered. */
  def check(table: TargetTable, connection: Connection): Checked[BoundTable] =
    for {
      query <- queryColumns
      changes <- alterations(table, connection)
      (ofTable, additions) = changes.partition(_.before.nonEmpty)
      bound <- bind(query.without(additions.map(_.column).toSet), table, ofTable)
    } yield bound.copy(alterations = changes)

  /** The refusal of a table, which has a simple remedy if the sink may create the table and nothing is in it yet. */
  def refusal(connection: Connection, table: TargetTable)(error: EpochalException): EpochalException = {
    val name = dialect.quote(table.name)
    if (options.createTable && TableCheck.OfTable(error.condition) && Try(Sql.isEmpty(connection, name)).getOrElse(
        false))
      error.condition
        .withHint(
          s"The table is empty. DROP TABLE $name and start again: with {option:createTable=true} it is made for this query.")
        .because(error)(error.values.toSeq: _*)
    else error
  }

  /** The changes of the table's columns that the query needs, and the options allow. */
  def alterations(table: TargetTable, connection: Connection): Checked[Seq[Alteration]] =
    if (!options.addColumns) Right(Nil)
    else if (!dialect.abilities.addsColumns)
      Left(
        JdbcOptions.unsupported(
          "add columns",
          s"Epochal cannot add columns in ${dialect.name}",
          "Add them with ALTER TABLE before the start."))
    else if (options.transport == TransportChoice.Prepared)
      Left(
        JdbcOptions.unsupported("add columns with {option:transport=prepared}", "its tasks write first", noTransport))
    else
      for {
        query <- queryColumns
        absent = query.stored.filter(column => find(column.into, table.columns)(_.name).isEmpty)
        _ <- distinctInCase(absent)
        like = dialect.types.declareLike(connection, likeSource(query, absent))
        additions <- all(absent) { column =>
          like.get(column.field).fold(declaration(column.field))(Right(_)).map { kind =>
            Alteration(column.into, Some(kind), s"ADD COLUMN ${dialect.quote(column.into)} $kind", None)
          }
        }
        _ <- all(additions.map(_.column))(nameable)
      } yield additions ++ (if (options.alterColumns && dialect.abilities.altersColumns)
                              table.columns.flatMap(alteration(query, table, _))
                            else Nil)

  /** A column of the table that does not take the query's rows as they are. */
  private def alteration(query: QueryColumns, table: TargetTable, column: TargetColumn): Option[Alteration] = {
    val source = query.stored.find(one => find(one.into, table.columns)(_.name).contains(column))
    val kind = source.flatMap(one => dialect.types.widening(one.field, column.columnType))
    def hasNulls = source.forall(one => options.changes && SourceColumn.of(one.field).exists(!_.isRequired))
    val nullable =
      !column.nullable && !column.filled && !table.keys.exists(_.columns(column.name)) && hasNulls
    if (kind.isEmpty && !nullable) None
    else dialect.alter(column, kind, nullable).map(Alteration(column.name, kind, _, Some(column)))
  }

  /** @param alterations
    *   of columns of the table, before it is written to
    */
  private def bind(query: QueryColumns, table: TargetTable, alterations: Seq[Alteration] = Nil): Checked[BoundTable] = {
    val later = alterations.map(_.column).toSet
    val otherTypes = alterations.filter(_.columnType.nonEmpty).map(_.column).toSet

    val missing = query.stored.filter(column => find(column.into, table.columns)(_.name).isEmpty)
    for {
      _ <- JdbcOptions.ensure(missing.isEmpty)(absent(missing, table, query))
      columns <- all(query.stored)(column(_, table, query, otherTypes))
      _ <- distinct(columns.map(bound => bound.column.name -> bound.field))(name => s"'$name' of ${table.name}")
      _ <- all(table.columns.filterNot(c => c.nullable || c.filled || later(c.name) || columns.exists(_.column == c)))(
        c => Left[EpochalException, Unit](requirement("table" -> table.name, "column" -> c.name)))
      mode <- mode(query, columns, table)
    } yield BoundTable(table, columns.map(withIdentity(mode, _)), mode, options.nulCharacter)
  }

  private def requirement: Condition =
    if (!dialect.abilities.altersColumns) Conditions.ColumnRequired
    else
      Conditions.ColumnRequired.withHint(
        "Add the column to the query, give it a default in the table, or let it be NULL: {option:alterColumns=true}.")

  /** Same check for a table that is yet to be created. */
  def bindNew(connection: Option[Connection]): Checked[Unit] =
    create(QualifiedName("", options.table.table.text), connection).map(_ => ())

  /** CREATE TABLE for the query's rows; keys become the primary key. Columns of a change feed are declared as its table declares them,
    * as far as the database can.
    */
  def create(name: QualifiedName, connection: Option[Connection]): Checked[String] = {
    def keyType(dataType: DataType): Option[String] =
      connection.fold(dialect.types.declareKey(dataType))(dialect.types.declareKey(_, dataType))
    def definition(query: QueryColumns, like: Map[StructField, String])(column: QueryColumn): Checked[String] = {
      val field = column.field
      val isKey = query.keys.contains(column)
      val source = SourceColumn.of(field).filter(_ => options.changes)
      val kind = like.get(field).orElse(if (isKey) keyType(field.dataType) else dialect.types.declare(field.dataType))
      // Of a column that cannot be altered later.
      val isLoose = options.alterColumns && !dialect.abilities.altersColumns
      val notNull = if (isKey || !isLoose && source.exists(_.isRequired)) " NOT NULL" else ""
      kind.map(sql => s"${dialect.quote(column.into)} $sql$notNull").toRight(unsupportedColumn(field))
    }
    for {
      query <- queryColumns
      _ <- TableCheck.nameable(dialect, name.table, "{option:dbtable=shorter_name}")
      _ <- all(query.stored.map(_.into))(nameable)
      _ <- distinctInCase(query.stored)
      like = connection.fold(Map.empty[StructField, String])(
        dialect.types.declareLike(_, likeSource(query, query.stored)))
      columns <- all(query.stored)(definition(query, like))
    } yield {
      val primary = Option.when(query.keys.nonEmpty)(
        s"PRIMARY KEY (${query.keys.distinct.map(k => dialect.quote(k.into)).mkString(", ")})")
      s"CREATE TABLE ${dialect.quote(name)} (${(columns ++ primary).mkString(", ")})"
    }
  }

  /** Columns that are to be declared like those of a change feed, and whether they are keys. */
  private def likeSource(query: QueryColumns, columns: Seq[QueryColumn]): Seq[(StructField, Boolean)] = columns
    .filter(_ => options.changes || options.tableColumn.nonEmpty)
    .map(column => column.field -> query.keys.contains(column))

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

  private def declaration(field: StructField): Checked[String] =
    dialect.types.declare(field.dataType).toRight(unsupportedColumn(field))

  private def unsupportedColumn(field: StructField): EpochalException = NewTypes.unsupported(field, dialect.name)

  /** Refuses new columns that the database would take for one. Letters beyond ASCII are left to the database: SQLite does not
    * fold them.
    */
  private def distinctInCase(columns: Seq[QueryColumn]): Checked[Unit] =
    if (!dialect.abilities.ignoresCase) Right(())
    else
      distinct(columns.map(column => column.into.map(c => if (c < 128) c.toLower else c) -> column.field))(name =>
        s"'$name' in any case")

  private def column(
      column: QueryColumn,
      table: TargetTable,
      query: QueryColumns,
      otherTypes: Set[String]): Checked[BoundColumn] = {
    val field = column.field
    for {
      found <- find(column.into, table.columns)(_.name).toRight(absent(Seq(column), table, query))
      _ <- declaration(field)
      _ <- JdbcOptions.ensure(!found.generated)(
        mismatch(
          field,
          table,
          s"${found.columnType.declaration}, always generated by the database",
          generatedHint(field, found, isKey = query.keys.contains(column))))
      kind = found.columnType
      _ <- (if (otherTypes(found.name)) Right(()) else dialect.types.fits(field.dataType, kind)).left
        .map(cast => mismatch(field, table, kind.declaration, suggestion(field, cast)))
      _ <- JdbcOptions.ensure(
        options.transport != TransportChoice.Prepared || !dialect.types
          .parses(field.dataType, kind))(JdbcOptions.unsupported(
        s"write the column '${field.name}' with {option:transport=prepared}",
        s"the server must parse its texts as ${kind.declaration}, and prepared transactions copy values in binary form",
        noTransport))
    } yield BoundColumn(field, column.ordinal, found, required = !found.nullable)
  }

  private def generatedHint(field: StructField, column: TargetColumn, isKey: Boolean): String = {
    val allow = column.remedy.map(sql => s"let the query supply it: $sql")
    if (isKey) allow.fold("Set {option:keyColumns} to other columns with a unique index.")(_.capitalize + ".")
    else s"Leave it out of the query, .drop('${field.name}')${allow.fold("")(", or " + _)}."
  }

  private def absent(missing: Seq[QueryColumn], table: TargetTable, query: QueryColumns): EpochalException = {
    val columns = table.columns.map(_.name)
    val free = columns.filterNot(name => query.stored.diff(missing).exists(_.into.equalsIgnoreCase(name)))
    val nearest = missing.flatMap(c => Nearest.of(c.into, free).map(c -> _))
    val near = nearest.map { case (c, name) => c.field.name -> name }
    val others = options.columnMap.filterNot { case (from, _) => near.exists(_._1.equalsIgnoreCase(from)) }
    val pairs = QueryColumns.pairs(near ++ others)
    val renames = nearest.map { case (c, name) =>
      s"ALTER TABLE ${dialect.quote(table.name)} RENAME COLUMN ${dialect.quote(name)} TO ${dialect.quote(c.into)}"
    }
    val texts = missing.map(c => s"'${c.field.name}'" + (if (c.into == c.field.name) "" else s" as '${c.into}'"))
    val names = missing.map(c => s"'${c.field.name}'").mkString(", ")
    val leave = s"leave what is missing out of the query, .drop($names), or add it: ${adding(missing, table, query)}"
    Conditions.ColumnMissing(
      "column" -> s"${if (missing.size == 1) "column" else "columns"} ${texts.mkString(", ")}",
      "table" -> table.name,
      "columns" -> columns.mkString(", "),
      "suggestion" -> (if (near.isEmpty) leave.capitalize
                       else
                         s"If a name is misspelt, correct it in the query, or in the table: ${renames.mkString("; ")}. To keep both names, set {option:columnMap=$pairs}. Otherwise $leave")
    )
  }

  private def adding(missing: Seq[QueryColumn], table: TargetTable, query: QueryColumns): String =
    if (dialect.abilities.addsColumns && options.transport != TransportChoice.Prepared &&
      !missing.exists(query.keys.contains)) "{option:addColumns=true}."
    else
      missing
        .map { c =>
          val kind = dialect.types.declare(c.field.dataType).getOrElse("…")
          s"ALTER TABLE ${dialect.quote(table.name)} ADD COLUMN ${dialect.quote(c.into)} $kind"
        }
        .mkString("", "; ", ".")

  private def mismatch(field: StructField, table: TargetTable, kind: String, suggestion: String): EpochalException =
    Conditions.ColumnTypeMismatch(
      "column" -> field.name,
      "sparkType" -> field.dataType.sql,
      "table" -> table.name,
      "columnType" -> kind,
      "suggestion" -> suggestion)

  /** @param cast
    *   the type to which the query can cast it
    */
  private def suggestion(field: StructField, cast: Option[String]): String = cast match {
    case Some(kind) =>
      val name = if (field.name.matches("[A-Za-z_]\\w*")) field.name else s"`${field.name.replace("`", "``")}`"
      s"Cast the column in the query: CAST($name AS $kind)."
    case None =>
      val kind = dialect.types.declare(field.dataType).fold("")(" to " + _)
      s"Change the type of the column in the table$kind, or leave it out of the query, .drop('${field.name}')."
  }

  private def mode(query: QueryColumns, columns: Seq[BoundColumn], table: TargetTable): Checked[WriteMode] = {
    def bound(column: QueryColumn): Option[BoundColumn] = columns.find(_.ordinal == column.ordinal)
    def name(column: QueryColumn): String = bound(column).fold(column.into)(_.column.name)
    if (!options.upsert) Right(WriteMode.Append)
    else {
      val keys = query.keys.map(name).distinct
      val others = columns.map(_.column.name).diff(keys)
      // If all columns are keys, rows must still count as stored: so the keys themselves are updated.
      val updates = if (query.updated.nonEmpty) query.updated.map(name) else if (others.isEmpty) keys else others
      for {
        loose <- comparableColumn(keys, columns, table)
        _ <- all(query.order.flatMap(bound).toSeq)(o =>
          JdbcOptions.ensure(dialect.types.sorts(o.field.dataType, o.column.columnType))(unsortable(o)))
        _ <- JdbcOptions.ensure(query.operation.isEmpty || dialect.abilities.deletes)(
          JdbcOptions.unsupported(
            "delete rows",
            s"the sink can only store rows in ${dialect.name}",
            "Leave the deletions out of the query, and use {option:mode=upsert}."))
        // A replica has the key as the source spells it.
        spelled = if (query.operation.isEmpty || query.updated.nonEmpty) Nil else keys.filter(loose.contains)
      } yield WriteMode.Upsert(
        table.columns.map(_.name).filter(keys.contains),
        query.order.map(name),
        (updates ++ spelled).distinct,
        query.operation.map(
          OperationColumn(
            _,
            table.unused("epochal_deletes"),
            query.feed.map(_(table.unused("epochal_version"), table.unused("epochal_unchanged"))))),
        loose
      )
    }
  }

  /** The table's name in a statement of the user. SQLite takes no schema there. */
  private def sqlName(name: QualifiedName): String =
    options.table.schema.fold("")(_ => dialect.quote(name.schema) + ".") + dialect.quote(name.table)

  /** The key columns that the database compares less strictly than Spark: none, unless accepted by the user. All indexes on these
    * columns count, since a statement that names the columns can use any of them.
    */
  private def comparableColumn(
      keys: Seq[String],
      columns: Seq[BoundColumn],
      table: TargetTable): Checked[Map[String, String]] = {
    val found = table.keys.filter(_.columns == keys.toSet)
    val loose = found.flatMap(_.loose).toMap.filter { case (name, _) =>
      columns.exists(c => c.column.name == name && !comparesAlike(c.field.dataType))
    }
    for {
      _ <- JdbcOptions.ensure(found.nonEmpty)(
        Conditions.KeyNotUnique("table" -> sqlName(table.name), "columns" -> keys.map(dialect.quote(_)).mkString(", ")))
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

  private def withIdentity(mode: WriteMode, column: BoundColumn): BoundColumn = mode match {
    case upsert: WriteMode.Upsert =>
      val isKey = upsert.keys.contains(column.column.name)
      column.copy(required = column.required || isKey, identifies = isKey || upsert.order.contains(column.column.name))
    case WriteMode.Append => column
  }

  private def unsortable(column: BoundColumn): EpochalException = JdbcOptions.unsupported(
    s"order rows by '${column.field.name}'",
    s"${dialect.name} does not sort a column of type ${column.column.columnType.declaration} as Spark sorts a ${column.field.dataType.sql}",
    "Name a column of whole numbers or times in {option:orderColumn}.")

  /** Whether values of the type are equal in every column type exactly if they are in Spark. */
  private def comparesAlike(dataType: DataType): Boolean = dataType match {
    case _: NumericType | BooleanType | BinaryType | DateType | TimestampType | TimestampNTZType => true
    case _                                                                                       => false
  }
}

private[jdbc] object TableCheck {

  /** Refusals of a table that another one of its name would not meet. */
  private val OfTable = Set(
    Conditions.ColumnMissing,
    Conditions.ColumnRequired,
    Conditions.ColumnTypeMismatch,
    Conditions.KeyNotUnique,
    Conditions.KeyComparisonMismatch)

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
