package io.epochal.kit.sink

import io.epochal.core.ledger._

/** The ledger's progress of rows stored in the middle of epochs, within a transaction that has locked the sink's row. */
trait SinkProgress {

  /** Waits for running flushes, and blocks others until the transaction ends. */
  def lock(): Unit

  /** The progress of a query; that of other queries under this sink id is kept. */
  def read(queryId: String): Progress

  /** Prepares the target for rows in the middle of an epoch: adds their columns. */
  def prepare(): Unit

  /** Makes a boundary the only one, and begins the counts there. */
  def anchor(queryId: String, boundary: Boundary): Unit

  /** Records the hash of the offsets that Spark has logged for a boundary. */
  def note(queryId: String, epoch: Long, offsetsHash: String): Unit

  /** Removes a query's progress: its next epoch ends in micro-batches. */
  def end(queryId: String): Unit

  /** Writes the end of an epoch, and drops boundaries that no restart needs. */
  def record(commit: ProgressCommit): Unit
}
