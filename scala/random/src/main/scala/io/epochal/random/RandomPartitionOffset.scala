package io.epochal.random

import org.apache.spark.sql.connector.read.streaming.PartitionOffset

/** Position of one partition of a continuous query. Spark merges the offsets of all partitions at each epoch.
  *
  * @param base
  *   start position of the query, without partitions
  */
final case class RandomPartitionOffset(base: RandomPosition, partition: Int, of: Int, count: Long)
    extends PartitionOffset
