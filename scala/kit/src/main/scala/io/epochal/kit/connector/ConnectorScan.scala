package io.epochal.kit.connector

import scala.util.Using

import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.EpochalException
import io.epochal.core.limit.ReadLimit
import io.epochal.core.option.SourceOptions
import io.epochal.kit.source.{InitialOffset, Source, SourceScan}

/** What a connector's table is read by. */
final private[connector] class ConnectorScan[P](connector: SourceConnector[P], settings: Settings, schema: StructType)
    extends SourceScan[CountedPosition[P]](s"${connector.shortName()}[${connector.sourceId(settings)}]", schema) {

  override protected def batch: Batch = new ConnectorBatch(connector, settings, schema, spark.defaultParallelism)

  override protected def source(checkpoint: InitialOffset): Source[CountedPosition[P]] = {
    val parts = spark.defaultParallelism
    if (connector.tails) new TailSource(connector, settings, schema, parts)
    else new ConnectorSource(connector, settings, schema, parts)
  }
}

/** The batch read: what the origin has when it is planned. */
final private class ConnectorBatch[P](connector: SourceConnector[P], settings: Settings, schema: StructType, parts: Int)
    extends Batch {

  override def planInputPartitions(): Array[InputPartition] =
    Using.resource(OriginCalls.open(connector, settings, schema)) { calls =>
      val supply = new OriginSupply(calls, connector.positions, parts)
      val first = supply.first
      var end = first
      var atEnd = false
      while (!atEnd) {
        val rows = supply.available(end, Long.MaxValue)
        atEnd = supply.known.exists(_.exact) || rows == 0 && !supply.paused
        end = supply.take(end, rows)
      }
      supply.partitions(first, end)
    }

  override def createReaderFactory(): PartitionReaderFactory = ConnectorReaderFactory(connector, settings, schema)
}

/** The driver's part of a connector, as the kit's stream asks for it. */
private[connector] class ConnectorSource[P](
    connector: SourceConnector[P],
    settings: Settings,
    schema: StructType,
    parts: Int)
    extends Source[CountedPosition[P]] {

  final protected val calls: OriginCalls[P] = OriginCalls.open(connector, settings, schema)
  private val offsets = new ConnectorOffset(connector.shortName(), connector.positions)
  private val identity = connector.sourceId(settings)

  override val name: String = s"${connector.shortName()}[$identity]"
  override val limit: ReadLimit = SourceOptions.limit(settings.values)
  override def eventTimeColumn: Option[String] = settings.values.get(SourceOptions.EventTimeColumn)
  override val supply: OriginSupply[P] = new OriginSupply(calls, connector.positions, parts)
  override def first: CountedPosition[P] = supply.first
  override def toJson(position: CountedPosition[P]): String = offsets.toJson(identity, position)

  override def fromJson(json: String): Either[EpochalException, CountedPosition[P]] = offsets.fromJson(identity, json)

  override def readerFactory: PartitionReaderFactory = ConnectorReaderFactory(connector, settings, schema)

  override def metrics(rowsBehind: Option[Long]): Map[String, String] = calls.metrics
}
