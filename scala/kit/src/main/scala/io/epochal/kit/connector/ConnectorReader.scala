package io.epochal.kit.connector

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType

/** The rows of one task, by their positions as they are written. */
final private[connector] case class ConnectorPartition(start: String, end: String) extends InputPartition

/** Travels to the tasks, where the connector is made anew: an author's class need not be serializable. */
final private[connector] case class ConnectorReaderFactory[P](
    kind: Class[_ <: SourceConnector[P]],
    raw: Map[String, String],
    schema: StructType)
    extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case ConnectorPartition(start, end) =>
      val (connector, calls) = open()
      val positions = connector.positions
      new ConnectorReader(calls, new PositionRange(positions.fromText(start), positions.fromText(end)))
    case other => throw new IllegalArgumentException(s"not a partition of a connector: $other")
  }

  private[connector] def open(): (SourceConnector[P], OriginCalls[P]) = {
    val connector = kind.getDeclaredConstructor().newInstance()
    (connector, OriginCalls.open(connector, connector.settings(raw), schema))
  }

  override def toString: String = s"ConnectorReaderFactory(${kind.getName})"
}

private[connector] object ConnectorReaderFactory {

  def apply[P](connector: SourceConnector[P], settings: Settings, schema: StructType): ConnectorReaderFactory[P] =
    new ConnectorReaderFactory(connector.getClass.asInstanceOf[Class[SourceConnector[P]]], settings.raw, schema)
}

/** Closes the rows, and then the origin that they come from. */
final private class ConnectorReader[P](calls: OriginCalls[P], range: PositionRange[P])
    extends PartitionReader[InternalRow] {

  private val rows =
    try calls("opened a partition")(_.read(range))
    catch {
      case error: Throwable =>
        calls.close()
        throw error
    }

  override def next(): Boolean = calls.once("read a partition")(rows.next())

  override def get(): InternalRow = rows.get()

  override def close(): Unit =
    try calls.once("closed a partition")(rows.close())
    finally calls.close()
}
