package io.epochal.cdc

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.{Batch, Scan, ScanBuilder, SupportsPushDownRequiredColumns}
import org.apache.spark.sql.types._

import io.epochal.cdc.slot.{CaptureServer, TableFacts}
import io.epochal.cdc.value.{PostgresColumn, RowReader, ValueReader}
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.source.{InitialOffset, Source, SourceProvider, SourceScan, SourceTable}

/** `format("epochal-cdc")`: the changes of a PostgreSQL table, in the order of their commits.
  *
  *   - [[CdcOptions]]: the options, validated when the DataFrame is built
  *   - [[CdcSetup]] (driver): prepares and checks the server; [[io.epochal.cdc.slot.Preflight]]: what it needs
  *   - [[CdcSource]] (driver): the journal of a stream; [[Capture]] fills it from the slot
  *   - [[CdcReader]] (executor): converts changes to rows
  *
  * Columns: those of the table, then [[CdcProvider.Own]].
  */
final class CdcProvider extends SourceProvider[CdcOptions](CdcOptions.group) {

  override protected def options(raw: Map[String, String]): Either[EpochalException, CdcOptions] = CdcOptions.read(raw)

  override protected def schema(options: CdcOptions): StructType = {
    val (table, columns) = describe(options)
    CdcProvider.withOwn(table.name, ValueReader.schema(table.name, columns))
  }

  override protected def table(schema: StructType, options: CdcOptions): Table = {
    val (table, columns) = describe(options, isChecked = true)
    val chosen = StructType(schema.filterNot(CdcProvider.isOwn))
    val absent = chosen.fieldNames.filterNot(name => columns.exists(_.name == name))
    if (absent.nonEmpty)
      throw Conditions.ColumnMissing(
        "table" -> table.name,
        "column" -> s"column ${absent.mkString(", ")}",
        "columns" -> columns.map(_.name).mkString(", "),
        "suggestion" -> "Leave it out of the schema.")
    val whole = CdcProvider.withOwn(table.name, chosen)
    val binary = new RowReader(table.name, columns, chosen).hasBinary
    new SourceTable(
      CdcOptions.Format,
      whole,
      () => new CdcScanBuilder(options, table, columns, whole, binary),
      continuous = true)
  }

  /** The table and its columns, as they are now.
    *
    * @param isChecked
    *   whether the server must be ready
    */
  private def describe(options: CdcOptions, isChecked: Boolean = false): (TableFacts, Seq[PostgresColumn]) = {
    val server = new CaptureServer(options.connection, options.retry)
    server
      .sql { connection =>
        val found = CaptureServer.table(connection, options.table)
        found.map { table =>
          val needs = new CdcNeeds(options, server)
          if (isChecked) needs.refuse(table, needs.points(connection, table))
          table -> PostgresColumn.of(connection, table.oid)
        }
      }
      .getOrElse {
        val near = server.sql(CaptureServer.nearest(_, options.table)).fold("")(name => s" (there is '$name')")
        throw Conditions.TableMissing.withHint(s"Create it, or correct '{option:dbtable}'$near.")(
          "table" -> options.table,
          "url" -> server.place,
          "nearest" -> near)
      }
  }
}

/** Prunes columns. */
final private class CdcScanBuilder(
    options: CdcOptions,
    table: TableFacts,
    columns: Seq[PostgresColumn],
    schema: StructType,
    binary: Boolean)
    extends ScanBuilder
    with SupportsPushDownRequiredColumns {
  private var needed = schema

  override def pruneColumns(required: StructType): Unit = needed = required

  override def build(): Scan = new CdcScan(options, table, columns, needed, binary)
}

final private class CdcScan(
    options: CdcOptions,
    table: TableFacts,
    columns: Seq[PostgresColumn],
    schema: StructType,
    binary: Boolean)
    extends SourceScan[CdcPosition](s"${CdcOptions.Format}[${options.source}]", schema) {

  override protected def batch: Batch = throw CdcOptions.group.unsupported(
    "be read as a batch",
    "changes come for as long as the query runs",
    "Use spark.readStream; for the table's rows, spark.read.jdbc.")

  override protected def source(checkpoint: InitialOffset): Source[CdcPosition] = {
    val store = checkpoint.beside("cdc")
    val server = new CaptureServer(options.connection, options.retry)
    val threads = spark.defaultParallelism
    val setup = new CdcSetup(options, server, store.toString, table, columns, binary, threads)
    new CdcSource(options, setup, new CdcReaderFactory(options, columns, schema, store), threads)
  }
}

private[cdc] object CdcProvider {

  /** The columns of a change. */
  val Own: Seq[StructField] = Seq(
    StructField("_unchanged_columns", ArrayType(StringType, containsNull = false)),
    StructField("_change_type", StringType, nullable = false),
    StructField("_commit_version", StringType, nullable = false),
    StructField("_commit_timestamp", TimestampType, nullable = false)
  )

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
}
