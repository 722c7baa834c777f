package io.epochal.kit.connector

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.types.StructType

import io.epochal.core.annotation.Stable
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.{OptionGroup, OptionSpec, RetryOptions, SourceOptions}
import io.epochal.kit.source.{SourceProvider, SourceTable}

/** What every source of another team says of itself, wherever its rows come from: a [[SourceConnector]] reads them, and reads them
  * again where it must; a [[ReceivingConnector]] receives them once.
  *
  * A class of the author's extends one of the two, has a public constructor without parameters, and is named in the resource
  * `META-INF/services/org.apache.spark.sql.sources.DataSourceRegister`. It must have no state: Spark makes it wherever it needs it,
  * also in tasks.
  *
  * The options of every source ([[io.epochal.core.option.SourceOptions]]) and of retries are added to the connector's own.
  *
  * @tparam P
  *   where the source stands: an immutable value
  * @param format
  *   the short name for `format`
  * @param description
  *   one sentence for the documentation
  * @param specs
  *   the connector's own options
  */
@Stable
abstract class SourceDefinition[P] private[connector] (
    format: String,
    description: String,
    specs: util.List[OptionSpec[_]])
    extends SourceProvider[Settings](
      OptionGroup(format, description, specs.asScala.toSeq ++ SourceOptions.all ++ RetryOptions.all)) {

  /** The columns. */
  override def schema(settings: Settings): StructType

  /** What decides which rows the source gives, without secrets: an address, a directory, a filter. An offset carries it, and is
    * refused where another identity reads it. The option `sourceId` replaces it.
    */
  def identity(settings: Settings): String

  /** How positions are written. */
  def positions: PositionFormat[P]

  /** Refuses options that cannot work, before a query starts: throws what `Settings` makes. */
  def check(settings: Settings): Unit = ()

  /** Whether a call that failed so can succeed when it is repeated. The default: failures of a network, not of files. */
  def isTransient(error: Exception): Boolean = Transient.ofNetwork(error)

  /** Whether a reader may ask for these columns (`.schema(…)`). The default: only the connector's own. */
  def accepts(schema: StructType, settings: Settings): Boolean = schema == this.schema(settings)

  private[connector] def scan(settings: Settings, schema: StructType): Scan

  private[connector] def isContinuous: Boolean

  final override protected[connector] def options(raw: Map[String, String]): Either[EpochalException, Settings] =
    SettingsReader.read(group, raw).map { settings =>
      check(settings)
      settings
    }

  final override protected def table(schema: StructType, settings: Settings): Table =
    if (accepts(schema, settings))
      new SourceTable(format, schema, () => () => scan(settings, schema), isContinuous)
    else
      throw Conditions.SchemaUnsupported(
        "format" -> format,
        "columns" -> this.schema(settings).toDDL,
        "schema" -> schema.toDDL)

  final private[connector] def sourceId(settings: Settings): String =
    settings.values.get(SourceOptions.SourceId).getOrElse(identity(settings))

  /** In a task, from what travelled there: it was checked on the driver. */
  final private[connector] def settings(raw: Map[String, String]): Settings =
    SettingsReader.read(group, raw).fold(throw _, found => found)

  final private[connector] def calls(settings: Settings): AuthorCalls =
    new AuthorCalls(format, settings.retry, isTransient)
}
