package io.epochal.rest.source

import org.apache.spark.sql.connector.read.InputPartition

/** A partition of one member.
  *
  * @param skipsGone
  *   whether it has no rows if the API no longer has the list
  */
final private[rest] case class MemberPartition(
    requests: ListRequests,
    partition: InputPartition,
    skipsGone: Boolean = false)
