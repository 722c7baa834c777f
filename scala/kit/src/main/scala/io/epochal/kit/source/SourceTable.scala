package io.epochal.kit.source

import java.util

import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A readable table, with its modes.
  *
  * @param schema
  *   the columns that a query may select
  * @param scans
  *   creates the [[SourceScan]] of the selected columns
  */
final class SourceTable(
    override val name: String,
    override val schema: StructType,
    scans: () => ScanBuilder,
    continuous: Boolean = false
) extends Table
    with SupportsRead {

  override def columns(): Array[Column] =
    schema.map(f => Column.create(f.name, f.dataType, f.nullable, null, f.metadata.json)).toArray

  override def capabilities(): util.Set[TableCapability] = {
    val modes = util.EnumSet.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ)
    if (continuous) { val _ = modes.add(TableCapability.CONTINUOUS_READ) }
    modes
  }

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = scans()
}
