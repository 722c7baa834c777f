package io.epochal.kit.sink.flush

import io.epochal.core.ledger.Position
import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.sink.row.{ChunkedBytes, EncodedRows, RowEncoder, RowFormat}
import io.epochal.kit.spark.memory.BinaryRow

/** Stores the rows of a task attempt while more arrive: a separate thread takes the buffered rows, in order, and stores
  * them one transaction after the other.
  *
  * {{{
  *   write ──► gathering ── interval over, or full, or finish ──► being stored (one transaction) ──► stored
  * }}}
  *
  * The interval runs from the beginning of one transaction to that of the next: a row that arrives later is stored at once.
  * Rows gather in one buffer while those of another are stored; when both are full, `write` waits. The next `write` or `finish`
  * throws a failure of the thread. Whether unfinished rows are stored is known from the ledger.
  *
  * @param start
  *   the position up to which the partition's rows are stored
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
    *   if it cannot be stored
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

  /** Waits until all rows are stored, and returns the position after them. */
  def finish(): Position = synchronized {
    finishing = true
    notifyAll()
    while (failure == null && (storing || gathering.rows > 0)) wait()
    finishing = false
    check()
    stored
  }

  /** Ends the thread after its current transaction. */
  def close(): Unit = synchronized {
    closed = true
    notifyAll()
  }

  /** The earliest beginning of the transaction after one that begins now. */
  private def next(): Long = System.nanoTime() + settings.interval.toNanos

  private def check(): Unit = if (failure != null) throw failure

  private def isFull(buffer: Buffer): Boolean = buffer.rows >= settings.rows || buffer.bytes.size >= MaxBytes

  private def begin(): Unit = if (thread == null) {
    thread = Threads.newThread(() => run())
    thread.start()
  }

  private def run(): Unit =
    try {
      var buffer = take()
      while (buffer != null) {
        flush.flush(partition, epoch, buffer.encoded, stored, buffer.end)
        buffer = stored(buffer)
      }
    } catch { case error: Throwable => fail(error) }

  /** The rows to store next; null at the end. */
  private def take(): Buffer = synchronized {
    while (!closed && !isDue)
      if (gathering.rows == 0) wait()
      else {
        val nanos = due - System.nanoTime()
        if (nanos > 0) wait(nanos / 1000000, (nanos % 1000000).toInt)
      }
    if (closed) null
    else {
      val buffer = gathering
      gathering = spare
      spare = buffer
      storing = true
      due = next()
      notifyAll()
      buffer
    }
  }

  private def isDue: Boolean =
    gathering.rows > 0 && (finishing || isFull(gathering) || System.nanoTime() - due >= 0)

  private def stored(buffer: Buffer): Buffer = {
    synchronized {
      stored = buffer.end
      count += 1
      sentRows += buffer.rows
      sentBytes += buffer.bytes.size
      buffer.clear()
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

  /** Maximum bytes of one transaction. */
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
