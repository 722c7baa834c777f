package io.epochal.kit.sink.flush

import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.epochal.core.ledger.{ContentDigest, Position}

/** A task's message at the end of an epoch. All rows up to `end` are stored.
  *
  * @param delivered
  *   of this epoch, including those that were stored before
  * @param written
  *   rows of this epoch that this attempt has stored
  */
final case class FlushMessage(
    partition: Int,
    end: Position,
    delivered: ContentDigest,
    written: Long,
    bytes: Long,
    flushes: Long)
    extends WriterCommitMessage
