package io.epochal.rest.source.paging

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.rest.http.request.HttpShare

/** The records of one task, and what of the query's budget it may use to fetch them. */
final private[rest] case class RestPartition(range: RecordRange, share: HttpShare) extends InputPartition

/** Which records go to which task. Pure: the same offsets always give the same records, on any number of tasks. */
private[rest] object RestPlan {

  def partitions(options: RestOptions, from: Long, until: Long, default: => Int): Array[InputPartition] =
    if (from >= until) Array.empty
    else {
      val budget = options.http.politeness.budget
      val ranges = options.pagination.split(from, until, budget.tasks(options.numPartitions.getOrElse(default)))
      ranges.zip(budget.shares(ranges.size)).map { case (range, share) => RestPartition(range, share) }.toArray
    }
}
