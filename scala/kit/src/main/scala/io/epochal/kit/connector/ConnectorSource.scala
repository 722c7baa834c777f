package io.epochal.kit.connector

import org.apache.spark.sql.connector.read.streaming.ReadLimit

import io.epochal.core.error.EpochalException
import io.epochal.core.option.SourceOptions
import io.epochal.kit.source.{ReadLimits, Source}

/** The driver's part of a connector, as the kit's stream uses it. */
abstract private[connector] class ConnectorSource[P](connector: SourceDefinition[P], settings: Settings)
    extends Source[ConnectorPosition[P]] {

  final protected val identity: String = connector.sourceId(settings)
  private val offsets = new ConnectorOffset(connector.shortName(), connector.positions)

  override val name: String = connector.nameOf(settings)
  override val limit: ReadLimit = ReadLimits.of(settings.values)
  override def eventTimeColumn: Option[String] = settings.values.get(SourceOptions.EventTimeColumn)
  override def toJson(position: ConnectorPosition[P]): String = offsets.toJson(identity, position)

  override def fromJson(json: String): Either[EpochalException, ConnectorPosition[P]] =
    offsets.fromJson(identity, json)
}
