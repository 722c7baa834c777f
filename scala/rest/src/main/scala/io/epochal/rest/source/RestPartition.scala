package io.epochal.rest.source

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.rest.http.HttpBudget

/** The records of one task, and its share of the query's budget. */
final private[rest] case class RestPartition(range: RecordRange, share: HttpBudget) extends InputPartition
