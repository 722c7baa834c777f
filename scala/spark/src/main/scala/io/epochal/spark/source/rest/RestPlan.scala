package io.epochal.spark.source.rest

import org.apache.spark.sql.connector.read.InputPartition

/** The records of one task. */
final private[rest] case class RestPartition(range: RecordRange) extends InputPartition

/** Which records go to which task. Pure: the same offsets always give the same records, on any number of tasks. */
private[rest] object RestPlan {

  def partitions(options: RestOptions, from: Long, until: Long, default: => Int): Array[InputPartition] =
    if (from >= until) Array.empty
    else options.pagination.split(from, until, options.numPartitions.getOrElse(default)).map(RestPartition(_)).toArray
}
