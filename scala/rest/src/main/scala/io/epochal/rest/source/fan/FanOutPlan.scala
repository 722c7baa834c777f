package io.epochal.rest.source.fan

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.rest.http.request.HttpBudget
import io.epochal.rest.source.paging.{RestOptions, RestPartition}

/** A part of what one member gives. */
final private[rest] case class MemberPartition(options: RestOptions, partition: InputPartition)

/** What one task reads, one part after the other. */
final private[rest] case class MemberPartitions(parts: Seq[MemberPartition]) extends InputPartition

/** Which task reads which members. */
private[rest] object FanOutPlan {

  /** Parts that each of so many members is to be split into, so that all tasks have something to do. */
  def split(members: Int, tasks: Int): Int = math.max(1, tasks / math.max(1, members))

  /** At most `tasks` partitions that hold all parts; their shares are the budget. */
  def group(parts: Seq[MemberPartition], budget: HttpBudget, tasks: Int): Array[InputPartition] = {
    val count = math.min(parts.size, budget.tasks(tasks))
    budget
      .shares(count)
      .zipWithIndex
      .map { case (share, i) =>
        val mine = parts.slice(bound(i, parts.size, count), bound(i + 1, parts.size, count))
        MemberPartitions(mine.map(part =>
          part.copy(partition = part.partition match {
            case live: RestPartition => live.copy(share = share)
            case other               => other
          })))
      }
      .toArray
  }

  private def bound(i: Int, parts: Int, tasks: Int): Int = (i.toLong * parts / tasks).toInt
}
