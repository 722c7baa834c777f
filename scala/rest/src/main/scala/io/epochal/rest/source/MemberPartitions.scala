package io.epochal.rest.source

import org.apache.spark.sql.connector.read.InputPartition

/** The partitions that one task reads, in sequence. */
final private[rest] case class MemberPartitions(parts: Seq[MemberPartition]) extends InputPartition
