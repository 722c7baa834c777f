package io.epochal.rest.source

import java.time.Instant

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.rest.http.HttpBudget

/** All records of a [[ChainedPagination]], for a batch read: one task follows all pages.
  *
  * @param until
  *   the end of the last time window; unused by other kinds
  * @param share
  *   of the query's budget; None: the task is the only one
  */
final private[rest] case class ChainPartition(until: Instant, share: Option[HttpBudget] = None) extends InputPartition
