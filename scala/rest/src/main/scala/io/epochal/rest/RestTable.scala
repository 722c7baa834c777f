package io.epochal.rest

import java.util

import org.apache.spark.sql.connector.catalog.{Column, SupportsRead, SupportsWrite, Table, TableCapability}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.read.streaming.ReportsSinkMetrics
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.rest.source.paging.RestOptions

/** An API as Spark sees it: hands on what is asked to the half that it concerns. */
final private class RestTable(queried: StructType, readable: Half, writable: Half)
    extends Table
    with SupportsRead
    with SupportsWrite
    with ReportsSinkMetrics {

  override def name(): String = first(readable, writable).fold(RestOptions.Format)(_.name)

  /** The sink's description in every query progress. */
  override def toString: String = first(writable, readable).fold(RestOptions.Format)(_.toString)

  private def first(halves: Half*): Option[Table] =
    halves.collectFirst { case half if half.problem.isEmpty => half.required }

  override def metrics(): util.Map[String, String] = writable.required match {
    case sink: ReportsSinkMetrics => sink.metrics()
    case _                        => util.Map.of()
  }

  /** As the source reads it; of a sink the query's own. */
  override def columns(): Array[Column] =
    if (readable.problem.isEmpty) readable.required.columns()
    else queried.fields.map(f => Column.create(f.name, f.dataType, f.nullable))

  // Spark 4.0 asks only this one.
  override def schema(): StructType = StructType(
    columns().map(column => StructField(column.name, column.dataType, column.nullable)))

  override def capabilities(): util.Set[TableCapability] = {
    val all = util.EnumSet.of(
      TableCapability.BATCH_READ,
      TableCapability.MICRO_BATCH_READ,
      TableCapability.STREAMING_WRITE,
      TableCapability.BATCH_WRITE,
      TableCapability.TRUNCATE,
      TableCapability.ACCEPT_ANY_SCHEMA)
    if (readable.problem.isEmpty) { val _ = all.addAll(readable.required.capabilities()) }
    all
  }

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = readable.required match {
    case source: SupportsRead => source.newScanBuilder(options)
    case other                => throw new IllegalStateException(s"not to be read: $other")
  }

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = writable.required match {
    case sink: SupportsWrite => sink.newWriteBuilder(info)
    case other               => throw new IllegalStateException(s"not to be written: $other")
  }
}
