package io.epochal.kit.sink.flush

import java.time.Duration

import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.epochal.core.ledger.{ContentDigest, Position}
import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.sink.row.{ChunkedBytes, EncodedRows, RowEncoder, RowFormat}
import io.epochal.kit.spark.memory.BinaryRow

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

/** Stores the rows of a task attempt while more come in: a thread of its own takes what has gathered, in the order in which
  * it came, one transaction after the other.
  *
  * {{{
  *   write ──► gathering ── interval over, or full, or finish ──► being stored (one transaction) ──► stored
  * }}}
  *
  * The interval runs from the beginning of one transaction to that of the next: a row that comes later than that is stored at once.
  * Rows gather in one buffer while those of another are stored; where both are full, `write` waits. A failure of the thread
  * is thrown by the next `write` or `finish`. What was not finished is stored or not: the ledger tells.
  *
  * @param start
  *   up to where the partition's rows are stored
  */
final private[sink] class Flusher(
    partition: Int,
    epoch: Long,
    flush: RowFlush,
    format: RowFormat,
    settings: FlushSettings,
    start: Position) {
  import Flusher._

  private var gathering = new Buffer(format)
  private var spare = new Buffer(format)
  private var stored = start
  private var storing = false
  private var finishing = false
  private var closed = false
  private var failure: Throwable = _
  private var thread: Thread = _
  private var due = next()
  private var count = 0L
  private var sentRows = 0L
  private var sentBytes = 0L

  /** Transactions so far, their rows, and these rows' bytes. */
  def flushes: Long = synchronized(count)
  def rows: Long = synchronized(sentRows)
  def bytes: Long = synchronized(sentBytes)

  /** Takes a row.
    *
    * @param end
    *   the partition's position with it
    * @throws io.epochal.kit.sink.row.BadValue
    *   it cannot be stored
    */
  def write(row: BinaryRow, end: => Position): Unit = synchronized {
    while (failure == null && storing && isFull(gathering)) wait()
    check()
    gathering.bytes.mark()
    try gathering.encoder.encode(row)
    catch {
      case error: Throwable =>
        gathering.bytes.reset()
        throw error
    }
    gathering.rows += 1
    gathering.end = end
    if (gathering.rows == 1) {
      begin()
      notifyAll()
    } else if (isFull(gathering)) notifyAll()
  }

  /** Waits until all rows are stored, and says up to where. */
  def finish(): Position = synchronized {
    finishing = true
    notifyAll()
    while (failure == null && (storing || gathering.rows > 0)) wait()
    finishing = false
    check()
    stored
  }

  /** Ends the thread after what it is storing now. */
  def close(): Unit = synchronized {
    closed = true
    notifyAll()
  }

  /** The earliest beginning of a transaction after one that begins now. */
  private def next(): Long = System.nanoTime() + settings.interval.toNanos

  private def check(): Unit = if (failure != null) throw failure

  private def isFull(buffer: Buffer): Boolean = buffer.rows >= settings.rows || buffer.bytes.size >= MaxBytes

  private def begin(): Unit = if (thread == null) {
    thread = Threads.newThread(() => run())
    thread.start()
  }

  private def run(): Unit =
    try {
      var taken = take()
      while (taken != null) {
        flush.flush(partition, epoch, taken.encoded, stored, taken.end)
        taken = stored(taken)
      }
    } catch { case error: Throwable => fail(error) }

  /** The rows to be stored next; null: there will be none. */
  private def take(): Buffer = synchronized {
    while (!closed && !isDue)
      if (gathering.rows == 0) wait()
      else {
        val nanos = due - System.nanoTime()
        if (nanos > 0) wait(nanos / 1000000, (nanos % 1000000).toInt)
      }
    if (closed) null
    else {
      val taken = gathering
      gathering = spare
      spare = taken
      storing = true
      due = next()
      notifyAll()
      taken
    }
  }

  private def isDue: Boolean =
    gathering.rows > 0 && (finishing || isFull(gathering) || System.nanoTime() - due >= 0)

  private def stored(taken: Buffer): Buffer = {
    synchronized {
      stored = taken.end
      count += 1
      sentRows += taken.rows
      sentBytes += taken.bytes.size
      taken.clear()
      storing = false
      notifyAll()
    }
    take()
  }

  private def fail(error: Throwable): Unit = synchronized {
    failure = error
    storing = false
    notifyAll()
  }
}

private object Flusher {
  private val Threads = new DaemonThreads("epochal-flush")

  /** Of one transaction. */
  private val MaxBytes = 1L << 20

  final class Buffer(format: RowFormat) {
    val bytes = new ChunkedBytes(Long.MaxValue, () => throw new IllegalStateException("a buffer without end"))
    val encoder: RowEncoder = format.encoder(bytes)
    var rows = 0L
    var end: Position = _

    def encoded: EncodedRows = {
      val (chunks, lengths) = bytes.contents
      EncodedRows(rows, bytes.size, chunks.toSeq.zip(lengths))
    }

    def clear(): Unit = {
      bytes.clear()
      rows = 0L
    }
  }
}
