package io.epochal.kit.sink

import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory

/** Commits the epochs of a trigger. */
private[sink] trait CommitStrategy {

  /** The factory for the tasks of an epoch, or of a continuous run, before they start. */
  def begin(tasks: Int): StreamingDataWriterFactory

  def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit

  /** Also called after a failed commit, before all tasks have ended: so only the ledger decides what is undone. A failure
    * here would hide the reason; the next run cleans up the rest.
    */
  def abort(epoch: Long): Unit
}
