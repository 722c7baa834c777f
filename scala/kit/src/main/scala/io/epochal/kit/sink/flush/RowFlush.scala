package io.epochal.kit.sink.flush

import java.time.Duration

import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.epochal.core.ledger.{ContentDigest, Position}
import io.epochal.kit.sink.row.EncodedRows

/** Stores rows of a task partition in the middle of an epoch, together with how far the partition is (K12). Travels to the
  * tasks of one run; holds no state.
  */
trait RowFlush extends Serializable {

  /** Up to where the rows of a partition are stored. A flush that is under way is waited for.
    *
    * @throws io.epochal.core.error.EpochalException
    *   SINK_FENCED: a newer run has claimed the sink
    */
  def applied(partition: Int): Position

  /** Stores rows and the partition's new position in one transaction, or neither. A lost connection is settled, and what
    * is transient tried again, before it returns.
    *
    * @param from
    *   where the partition is before
    * @param to
    *   where it is with these rows, the last of which is the last that was delivered
    * @throws io.epochal.core.error.EpochalException
    *   SINK_FENCED; FLUSH_OVERTAKEN: the partition is not at `from`; RUN_FAILED; ROWS_DROPPED
    */
  def flush(partition: Int, epoch: Long, rows: EncodedRows, from: Position, to: Position): Unit

  /** The rows delivered, up to a position that is stored, are not those that were stored.
    *
    * @param found
    *   the position of the same number of rows
    */
  def diverged(partition: Int, known: Position, found: Position): Nothing

  /** Fewer rows are stored than the partition had delivered when the epoch before ended: the system went back. */
  def lost(partition: Int, epoch: Long, delivered: Position, stored: Position): Nothing
}

/** When a task stores the rows that it has.
  *
  * @param interval
  *   from one transaction of a task to the next, at the most
  * @param rows
  *   as soon as there are so many
  */
final case class FlushSettings(interval: Duration, rows: Int)

/** What a task tells the driver at the end of an epoch. All rows up to `end` are stored.
  *
  * @param delivered
  *   of this epoch, those too that were stored before
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
