package io.epochal.kit.sink

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.EpochalException
import io.epochal.core.option.OptionGroup
import io.epochal.kit.access.PlanRedaction
import io.epochal.kit.spark.SinkEngine

/** The entry point that Spark finds by a sink's format: parses and checks the options before a query starts, and hides the
  * secret ones.
  *
  * @tparam O
  *   the options, checked
  */
abstract class SinkProvider[O](val group: OptionGroup) extends TableProvider with DataSourceRegister {

  protected def options(raw: Map[String, String]): Either[EpochalException, O]

  /** The target for rows with these columns; rejects what cannot work. */
  protected def table(schema: StructType, options: O): Table

  /** Why rows cannot be partitioned, and the alternative. */
  protected def unpartitioned: (String, String)

  final override def shortName(): String = group.format

  /** Makes Spark pass the query's columns to `getTable`. */
  final override def supportsExternalMetadata(): Boolean = true

  /** Called once when a query starts, and once for a batch write. Nothing has been written yet. */
  final override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = {
    if (partitioning.nonEmpty)
      throw group.unsupported("partition the rows (partitionBy)", unpartitioned._1, unpartitioned._2)
    val raw = properties.asScala.toMap
    val values = options(raw).fold(throw _, identity)
    PlanRedaction.hide(group, properties)
    val result = table(schema, values)
    TornFirstBatch.sweep(raw, SinkEngine.OfActiveSession.hadoop)
    result
  }
}
