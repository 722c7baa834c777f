package io.epochal.kit.source

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.OptionGroup
import io.epochal.kit.access.PlanRedaction

/** The entry point that Spark finds by a format's name: parses and checks the options before a query starts, and hides the
  * secret ones.
  *
  * @tparam O
  *   the options, checked
  */
abstract class SourceProvider[O](val group: OptionGroup) extends TableProvider with DataSourceRegister {

  protected def options(raw: Map[String, String]): Either[EpochalException, O]

  /** The columns, if the reader sets none. */
  protected def schema(options: O): StructType

  /** The table with these columns, which the reader or `schema` has set. */
  protected def table(schema: StructType, options: O): Table

  /** Rejects a schema that differs from the format's only one. */
  final protected def requireSchema(only: StructType, schema: StructType): Unit =
    if (schema != only) throw schemaUnsupported(only, schema)

  /** The error for a reader's schema that the format does not take in place of its own. */
  final protected def schemaUnsupported(own: StructType, schema: StructType): EpochalException =
    Conditions.SchemaUnsupported("format" -> shortName(), "columns" -> own.toDDL, "schema" -> schema.toDDL)

  final override def shortName(): String = group.format

  /** Makes Spark pass the user's schema to `getTable`, which can reject it with an error of ours. */
  final override def supportsExternalMetadata(): Boolean = true

  final override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    schema(read(options.asCaseSensitiveMap))

  /** Called once when the DataFrame is built: the place to reject bad options. */
  final override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = {
    val settings = read(properties)
    group.parse(properties.asScala.toMap).foreach { values =>
      EventTimeColumn.refused(values, schema).orElse(ReadLimits.refused(values)).foreach(throw _)
    }
    table(schema, settings)
  }

  private def read(raw: util.Map[String, String]): O = {
    val settings = options(raw.asScala.toMap).fold(throw _, identity)
    PlanRedaction.hide(group, raw)
    settings
  }
}
