package io.epochal.rest.source

import org.apache.spark.sql.connector.read.InputPartition

/** Which records go to which task. Pure: the same offsets always select the same records, on any number of tasks. */
private[rest] object RestPlan {

  def partitions(options: RestOptions, from: Long, until: Long, default: => Int): Array[InputPartition] =
    if (from >= until) Array.empty
    else {
      import options.requests.{http, pagination}
      val ranges = pagination.split(from, until, http.budget.tasks(options.numPartitions.getOrElse(default)))
      ranges.zip(http.budget.shares(ranges.size)).map { case (range, share) => RestPartition(range, share) }.toArray
    }
}
