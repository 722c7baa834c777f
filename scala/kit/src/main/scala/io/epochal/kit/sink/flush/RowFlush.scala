package io.epochal.kit.sink.flush

import io.epochal.core.ledger.Position
import io.epochal.kit.sink.row.EncodedRows

/** Stores rows of a task partition in the middle of an epoch, together with the partition's position. Serialized to the
  * tasks of one run; stateless.
  */
trait RowFlush extends Serializable {

  /** The position up to which a partition's rows are stored. Waits for a running flush.
    *
    * @throws io.epochal.core.error.EpochalException
    *   SINK_FENCED: a newer run has claimed the sink
    */
  def applied(partition: Int): Position

  /** Stores rows and the partition's new position in one transaction, or neither. Before it returns, it resolves a lost
    * connection and retries transient failures.
    *
    * @param from
    *   the partition's position before these rows
    * @param to
    *   the partition's position after these rows; the last row stored is the last one delivered
    * @throws io.epochal.core.error.EpochalException
    *   SINK_FENCED; FLUSH_OVERTAKEN: the partition is not at `from`; RUN_FAILED; ROWS_DROPPED
    */
  def flush(partition: Int, epoch: Long, rows: EncodedRows, from: Position, to: Position): Unit

  /** Fails because the rows delivered up to a stored position differ from the stored rows.
    *
    * @param deliveredEnd
    *   the position of the same number of rows
    */
  def diverged(partition: Int, storedEnd: Position, deliveredEnd: Position): Nothing

  /** Fails because fewer rows are stored than the partition had delivered at the end of the previous epoch: the system was set
    * back.
    */
  def lost(partition: Int, epoch: Long, deliveredEnd: Position, storedEnd: Position): Nothing
}
