package io.epochal.kit.source.journal

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.core.journal.Slice

/** The rows of one task, in the journal. */
final case class JournalPartition(slices: Seq[Slice]) extends InputPartition
