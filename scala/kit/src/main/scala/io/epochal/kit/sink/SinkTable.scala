package io.epochal.kit.sink

import java.util

import org.apache.spark.sql.connector.catalog.{Column, SupportsWrite, Table, TableCapability}
import org.apache.spark.sql.connector.read.streaming.ReportsSinkMetrics
import org.apache.spark.sql.types.StructType

/** The target of one query, from its start to its end. */
abstract class SinkTable(override val schema: StructType) extends Table with SupportsWrite with ReportsSinkMetrics {

  /** The sink's description in every query progress. */
  final override def toString: String = name()

  final override def columns(): Array[Column] = schema.fields.map(f => Column.create(f.name, f.dataType, f.nullable))

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(
    TableCapability.STREAMING_WRITE,
    TableCapability.BATCH_WRITE,
    TableCapability.TRUNCATE,
    TableCapability.ACCEPT_ANY_SCHEMA)
}
