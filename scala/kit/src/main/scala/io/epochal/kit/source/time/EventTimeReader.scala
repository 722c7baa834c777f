package io.epochal.kit.source.time

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

/** The readers of a source, which look at the event time of each row that they deliver. */
final private[source] class EventTimeReaderFactory(
    factory: PartitionReaderFactory,
    column: EventTimeColumn,
    highest: HighestEventTime
) extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new EventTimeReader(factory.createReader(partition), column, highest)
}

/** Spark calls `get` once for each row. */
final private class EventTimeReader(
    reader: PartitionReader[InternalRow],
    column: EventTimeColumn,
    highest: HighestEventTime
) extends PartitionReader[InternalRow] {

  override def next(): Boolean = reader.next()

  override def get(): InternalRow = {
    val row = reader.get()
    highest.see(column.of(row))
    row
  }

  override def currentMetricsValues(): Array[CustomTaskMetric] = reader.currentMetricsValues()

  override def close(): Unit = reader.close()
}
