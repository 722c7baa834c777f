package io.epochal.kit.source

import org.apache.spark.sql.connector.read.InputPartition

trait EndlessReaderFactory extends Serializable {

  /** A reader of one of the source's endless partitions; reads in one thread. */
  def createReader(partition: InputPartition): EndlessReader
}
