package io.epochal.kit.sink

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{Column, SupportsWrite, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.streaming.ReportsSinkMetrics
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.OptionGroup
import io.epochal.kit.access.PlanRedaction
import io.epochal.kit.spark.SinkEngine

/** What Spark finds by the name of a sink's format: reads the options once, checked before a query starts, and hides the secret
  * ones.
  *
  * @tparam O
  *   the options, checked
  */
abstract class SinkProvider[O](val group: OptionGroup) extends TableProvider {

  protected def options(raw: Map[String, String]): Either[EpochalException, O]

  /** The target for rows of these columns; what cannot work is refused now. */
  protected def table(schema: StructType, options: O): Table

  /** Why rows cannot be partitioned, and what to do instead. */
  protected def unpartitioned: (String, String)

  /** Makes Spark hand the query's columns to `getTable`. */
  final override def supportsExternalMetadata(): Boolean = true

  /** Called once when a query starts, and once for a batch write. Nothing has been written yet. */
  final override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = {
    if (partitioning.nonEmpty)
      throw Conditions.ModeUnsupported(
        "format" -> group.format,
        "mode" -> "partition the rows (partitionBy)",
        "reason" -> unpartitioned._1,
        "suggestion" -> unpartitioned._2)
    val raw = properties.asScala.toMap
    val checked = options(raw).fold(throw _, identity)
    PlanRedaction.hide(group, properties)
    val made = table(schema, checked)
    TornFirstBatch.sweep(raw, SinkEngine.OfActiveSession.hadoop)
    made
  }
}

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

/** The target of one query into a system with transactions. */
abstract class TransactionalTable(querySchema: StructType, engine: SinkEngine) extends SinkTable(querySchema) {

  protected def sink: TransactionalSink

  protected def sinkMetrics: SinkMetrics

  private lazy val claims = new Claims(sink, engine)

  final override def name(): String = sink.description

  final override def metrics(): util.Map[String, String] = sinkMetrics.asMap.asJava

  final override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new TransactionalWriteBuilder(
    WriteRequest(sink, claims, info.schema, info.queryId, sinkMetrics, engine))
}
