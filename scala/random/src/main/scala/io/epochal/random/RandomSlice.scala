package io.epochal.random

import org.apache.spark.sql.connector.read.InputPartition

/** Partition with the ids first, first + step, first + 2·step, … below end.
  *
  * @param of
  *   start position; its `rowZero` determines timestamps
  */
final case class RandomSlice(first: Long, step: Long, end: Long, of: RandomPosition) extends InputPartition
