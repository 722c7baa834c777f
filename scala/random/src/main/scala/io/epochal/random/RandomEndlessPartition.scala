package io.epochal.random

import org.apache.spark.sql.connector.read.InputPartition

/** Endless partition of a continuous or real-time query: the ids from `at` on, each when it is due. */
final case class RandomEndlessPartition(at: RandomPartitionOffset, maxRows: Long) extends InputPartition
