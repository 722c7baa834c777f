package io.epochal.kit.connector

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.connector.read.Batch
import org.apache.spark.sql.types.StructType

import io.epochal.core.annotation.Stable
import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionGroup, OptionSpec, RetryOptions, SourceOptions}
import io.epochal.kit.source.{InitialOffset, Source, SourceProvider, SourceScan, SourceTable}

/** Declares a source connector: name, options, columns and identity. A [[SourceConnector]] reads its rows and can read them
  * again; a [[ReceivingConnector]] receives them once.
  *
  * The author's class extends one of the two, has a public constructor without parameters, and is named in the resource
  * `META-INF/services/org.apache.spark.sql.sources.DataSourceRegister`. It must be stateless: Spark creates instances wherever
  * it needs them, also in tasks.
  *
  * The options of every source ([[io.epochal.core.option.SourceOptions]]) and of retries are added to the connector's own.
  *
  * @tparam P
  *   the position of the source: an immutable value
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

  override def schema(settings: Settings): StructType

  /** Identifies the rows that the source reads, without secrets: an address, a directory, a filter. Offsets carry it, and a
    * query with another identity rejects them. The option `sourceId` replaces it.
    */
  def identity(settings: Settings): String

  /** The format of positions in the checkpoint. */
  def positions: PositionFormat[P]

  /** Rejects options that cannot work, before a query starts: throws an exception that `Settings` creates. */
  def check(settings: Settings): Unit = ()

  /** Whether a call that failed with this error may succeed on retry. The default: network failures, not file failures. */
  def isTransient(error: Exception): Boolean = AuthorCalls.isOfNetwork(error)

  /** Whether a reader may request these columns (`.schema(…)`). The default: only the connector's own. */
  def accepts(schema: StructType, settings: Settings): Boolean = schema == this.schema(settings)

  private[connector] def isContinuous: Boolean

  private[connector] def batch(read: ConnectorRead): Batch

  private[connector] def source(read: ConnectorRead, checkpoint: InitialOffset): Source[ConnectorPosition[P]]

  final override protected[connector] def options(raw: Map[String, String]): Either[EpochalException, Settings] =
    SettingsReader.read(group, raw).map { settings =>
      check(settings)
      settings
    }

  final override protected def table(schema: StructType, settings: Settings): Table =
    if (accepts(schema, settings))
      new SourceTable(format, schema, () => () => new ConnectorScan(this, settings, schema), isContinuous)
    else throw schemaUnsupported(this.schema(settings), schema)

  final private[connector] def sourceId(settings: Settings): String =
    settings.values.get(SourceOptions.SourceId).getOrElse(identity(settings))

  /** The name in plans and in Spark's progress. */
  final private[connector] def nameOf(settings: Settings): String = s"$format[${sourceId(settings)}]"

  /** The settings in a task, from options that the driver has checked. */
  final private[connector] def settings(raw: Map[String, String]): Settings =
    SettingsReader.read(group, raw).fold(throw _, settings => settings)

  final private[connector] def calls(settings: Settings): AuthorCalls =
    new AuthorCalls(format, settings.retry, isTransient)
}

final private class ConnectorScan[P](connector: SourceDefinition[P], settings: Settings, schema: StructType)
    extends SourceScan[ConnectorPosition[P]](connector.nameOf(settings), schema) {

  private def read = ConnectorRead(settings, schema, spark.defaultParallelism)

  override protected def batch: Batch = connector.batch(read)

  override protected def source(checkpoint: InitialOffset): Source[ConnectorPosition[P]] =
    connector.source(read, checkpoint)
}
