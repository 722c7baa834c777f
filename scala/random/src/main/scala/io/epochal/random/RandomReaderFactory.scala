package io.epochal.random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

/** Creates a reader for each task. Serialized to the executors, so all its fields must be serializable. */
final private class RandomReaderFactory(options: RandomOptions) extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new RandomReader(options, partition.asInstanceOf[RandomSlice])
}
