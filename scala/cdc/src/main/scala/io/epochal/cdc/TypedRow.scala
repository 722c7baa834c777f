package io.epochal.cdc

import org.apache.spark.sql.types.{StructField, StructType}

import io.epochal.cdc.value.ValueReader
import io.epochal.core.error.Conditions

/** Rows of several tables with typed columns: `_table`, then for each table a column of its name, a STRUCT of its columns, which is
  * NULL in the rows of others; then [[CdcProvider.Own]].
  *
  * Values travel as texts: one that only the server can print, in a table that is added later, would change the form of all.
  */
private[cdc] object TypedRow {
  val Table: StructField = CdcProvider.GenericRow("_table")

  def schema(tables: CdcTables): StructType = row(tables.all.map { case CdcTable(table, columns) =>
    table.name -> CdcProvider.withOwn(table.name, ValueReader.schema(table.name, columns))
  })

  private def row(tables: Seq[(String, StructType)]): StructType = StructType(
    Table +: tables.map { case (name, columns) =>
      StructField(name, StructType(columns.filterNot(CdcProvider.isOwn)))
    } ++: CdcProvider.Own)

  /** The declared columns of each table by its OID. */
  def chosenColumns(tables: CdcTables, schema: StructType): Map[Long, Set[String]] =
    tables.all.map(table => table.facts.oid -> columnsOf(table, schema).fieldNames.toSet).toMap

  /** The columns of the tables, marked for replicas, as a schema has them. */
  def select(tables: CdcTables, schema: StructType, preimages: Boolean): StructType = {
    val names = Set(Table.name) ++ CdcProvider.Own.map(_.name) ++ tables.all.map(_.facts.name)
    schema.fieldNames.find(name => !names(name)).foreach(name => throw unfit(s"$name is none of the tables"))
    row(tables.all.map { table =>
      table.facts.name -> CdcProvider.markColumns(table, columnsOf(table, schema), preimages)._1
    })
  }

  private def columnsOf(table: CdcTable, schema: StructType): StructType =
    schema.find(_.name == table.facts.name).map(_.dataType) match {
      case Some(struct: StructType) => StructType(struct.map(_.copy(nullable = true)))
      case _                        => throw unfit(s"${table.facts.name} has no STRUCT in it")
    }

  private def unfit(reason: String) = Conditions.TablesChanged.withHint(
    "Leave the schema out, or declare a STRUCT with the columns to read for each table, named `schema.table`.")(
    "change" -> s"the schema does not fit the tables: $reason")
}
