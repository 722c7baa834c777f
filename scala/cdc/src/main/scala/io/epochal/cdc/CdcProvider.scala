package io.epochal.cdc

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.{Batch, Scan, ScanBuilder, SupportsPushDownRequiredColumns}
import org.apache.spark.sql.types._

import io.epochal.cdc.snapshot.TableKey
import io.epochal.cdc.value.{RowReader, ValueReader}
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.database.PostgresType
import io.epochal.kit.record.{ReplicaKey, SourceColumn}
import io.epochal.kit.source.{InitialOffset, Source, SourceProvider, SourceScan, SourceTable}

/** `format("epochal-cdc")`: the changes of a PostgreSQL table, in the order of their commits.
  *
  *   - [[CdcOptions]]: the options, validated when the DataFrame is built
  *   - [[FirstStart]] (driver): creates slot and publication; [[ServerCheck]]: compares the server with the query's needs
  *   - [[CdcSource]] (driver): the journal of a stream; [[Capture]] fills it from the slot
  *   - [[CdcReader]] (executor): converts changes to rows
  *
  * Columns: those of the table, then [[CdcProvider.Own]]. Of several tables: [[CdcProvider.GenericRow]] or [[TypedRow]].
  */
final class CdcProvider extends SourceProvider[CdcOptions](CdcOptions.group) {

  override protected def options(raw: Map[String, String]): Either[EpochalException, CdcOptions] = CdcOptions.read(raw)

  /** The tables that the schema was made from: Spark asks for the table next. */
  private var recentTables = Option.empty[(CdcOptions, CdcTables)]

  override protected def schema(options: CdcOptions): StructType =
    if (options.rows == RowShape.Json) CdcProvider.GenericRow
    else {
      val tables = CdcTables.find(options)
      recentTables = Some(options -> tables)
      if (tables.isSeveral) TypedRow.schema(tables)
      else {
        val CdcTable(table, columns) = tables.only
        CdcProvider.withOwn(table.name, ValueReader.schema(table.name, columns))
      }
    }

  override protected def table(schema: StructType, options: CdcOptions): Table = {
    if (options.rows == RowShape.Json) requireSchema(CdcProvider.GenericRow, schema)
    // Else the schema was declared.
    val tables = recentTables.collect { case (`options`, tables) => tables }.getOrElse {
      val tables = CdcTables.find(options)
      tables.rows match {
        case RowShape.Json => tables
        case RowShape.OfTable =>
          val columns = schema.filterNot(CdcProvider.isOwn).map(_.name).toSet
          tables.copy(chosen = Some(Map(tables.only.facts.oid -> columns)))
        case RowShape.Typed => tables.copy(chosen = Some(TypedRow.chosenColumns(tables, schema)))
      }
    }
    recentTables = None
    new ServerCheck(options, options.server, tables).requireReady()
    val (columns, binary) = options.rows match {
      case RowShape.Json    => schema -> false
      case RowShape.OfTable => CdcProvider.select(tables.only, schema, options.preimages)
      case RowShape.Typed   => TypedRow.select(tables, schema, options.preimages) -> false
    }
    new SourceTable(
      CdcOptions.Format,
      columns,
      () => new CdcScanBuilder(options, tables, columns, binary, changes = None),
      continuous = true)
  }
}

/** Prunes columns.
  *
  * @param changes
  *   of a read by CHANGES, its range
  */
final private class CdcScanBuilder(
    options: CdcOptions,
    tables: CdcTables,
    schema: StructType,
    binary: Boolean,
    changes: Option[CommitRange])
    extends ScanBuilder
    with SupportsPushDownRequiredColumns {
  private var neededColumns = schema

  override def pruneColumns(columns: StructType): Unit = neededColumns = columns

  override def build(): Scan = new CdcScan(options, tables, neededColumns, binary, changes)
}

final private class CdcScan(
    options: CdcOptions,
    tables: CdcTables,
    schema: StructType,
    binary: Boolean,
    changes: Option[CommitRange])
    extends SourceScan[CdcPosition](s"${CdcOptions.Format}[${options.source}]", schema) {

  override protected def batch: Batch = changes match {
    case Some(range) => new SlotBatch(options, tables, schema, binary, range)
    case None =>
      throw CdcOptions.group.unsupported(
        "be read as a batch",
        "changes come for as long as the query runs",
        "Use spark.readStream; for the table's rows, spark.read.jdbc.")
  }

  override protected def source(checkpoint: InitialOffset): Source[CdcPosition] = {
    val options = changes.fold(this.options)(begin)
    val store = checkpoint.beside("cdc")
    val threads = spark.defaultParallelism
    val reloads = changes.isEmpty
    val watch = new CatalogWatch(options, tables, store.below("catalog"), reloads)
    val plan = CapturePlan(options, options.server, tables, binary, threads, Some(watch), reloads)
    // Of generic rows, only the types matter.
    val columns =
      if (tables.isGeneric) Map("" -> tables.all.flatMap(_.columns).distinctBy(_.kind.oid))
      else tables.all.map(table => table.facts.name -> table.columns).toMap
    new CdcSource(plan, new CdcReaderFactory(options, columns, schema, store), threads)
  }

  /** The options of a stream that begins where a range does. */
  private def begin(range: CommitRange): CdcOptions = range match {
    case CommitRange.All                                        => options
    case CommitRange(CommitVersion(lsn, 0), CommitVersion.Last) => options.copy(starting = CdcStart.At(lsn))
    case _ =>
      throw CdcOptions.group.unsupported(
        "stream this range of changes",
        "a stream begins with the first change of a transaction, and has no end",
        "Set startingVersion to a position of the log such as 0/16B3748, and no other bound.")
  }
}

private[cdc] object CdcProvider {
  val Own: Seq[StructField] = Seq(
    StructField("_unchanged_columns", ArrayType(StringType, containsNull = false)),
    StructField("_change_type", StringType, nullable = false),
    StructField("_commit_version", StringType, nullable = false),
    StructField("_commit_timestamp", TimestampType, nullable = false)
  )

  /** Rows of any table: JSON before and after a change. */
  val GenericRow: StructType = StructType(
    Seq(
      StructField("_table", StringType, nullable = false),
      StructField("before", StringType),
      StructField("after", StringType)) ++ Own)

  /** Types whose values are too small to be left out. */
  private val AlwaysSent =
    Set("bool", "int2", "int4", "int8", "float4", "float8", "date", "time", "timetz", "timestamp") ++
      Set("timestamptz", "interval", "uuid", "money", "inet", "cidr", "macaddr", "macaddr8", "pg_lsn", "oid") ++
      Set("char", "name", "point", "line", "lseg", "box", "circle")

  def isOwn(field: StructField): Boolean = Own.exists(_.name == field.name)

  /** The columns of a table, then those of a change.
    *
    * @throws EpochalException
    *   COLUMN_UNSUPPORTED, if the table has a column of such a name
    */
  def withOwn(table: String, columns: StructType): StructType = {
    columns.find(isOwn).foreach { column =>
      throw Conditions.ColumnUnsupported(
        "table" -> table,
        "column" -> column.name,
        "columnType" -> column.dataType.sql,
        "reason" -> "has the name of a column that describes a change",
        "instruction" -> "Rename it in the table"
      )
    }
    StructType(columns ++ Own)
  }

  /** The columns of one table and of its changes, and whether they can be read in binary form. */
  def select(of: CdcTable, schema: StructType, preimages: Boolean): (StructType, Boolean) = {
    val (columns, binary) = markColumns(of, StructType(schema.filterNot(isOwn)), preimages)
    withOwn(of.facts.name, columns) -> binary
  }

  /** The columns of one table, marked for replicas, and whether they can be read in binary form.
    *
    * @throws EpochalException
    *   COLUMN_MISSING
    */
  def markColumns(of: CdcTable, chosenColumns: StructType, preimages: Boolean): (StructType, Boolean) = {
    val CdcTable(table, columns) = of
    val absent = chosenColumns.fieldNames.filterNot(name => columns.exists(_.name == name))
    if (absent.nonEmpty)
      throw Conditions.ColumnMissing(
        "table" -> table.name,
        "column" -> s"column ${absent.mkString(", ")}",
        "columns" -> columns.map(_.name).mkString(", "),
        "suggestion" -> "Leave it out of the schema.")
    val markedColumns = chosenColumns.map { field =>
      val column = columns.find(_.name == field.name).get
      val isSmall = AlwaysSent(column.kind.name) || column.kind.shape.isInstanceOf[PostgresType.Enum]
      val isSent = isSmall || table.identity == "f" || table.followed.contains(field.name)
      SourceColumn(field.name, column.kind.cast, column.modifier, table.notNull(field.name), isSent).mark(field)
    }
    ReplicaKey.mark(StructType(markedColumns), table.sql, table.id, table.followed, preimages) ->
      (new RowReader(table.name, columns, chosenColumns).hasBinary && TableKey.of(table, columns).forall(_.hasBinary))
  }
}
