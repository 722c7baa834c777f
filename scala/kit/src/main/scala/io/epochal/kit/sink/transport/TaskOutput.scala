package io.epochal.kit.sink.transport

import io.epochal.kit.sink.row.{ChunkedBytes, RowEncoder, RowFormat}

/** The output of a task's rows. Holds encoded rows until they are sent, or the task's message takes them. Closed when the task
  * ends, finished or not.
  *
  * @param maxBytes
  *   `onLimit` is called if it would hold more
  */
abstract private[epochal] class TaskOutput(
    format: RowFormat,
    maxBytes: Long = Long.MaxValue,
    onLimit: () => Nothing = () => throw new IllegalStateException("no limit"))
    extends AutoCloseable {

  private val out = new ChunkedBytes(maxBytes, onLimit)
  private var before = 0L

  final val encoder: RowEncoder = format.encoder(out)

  /** Bytes encoded so far. */
  final def bytes: Long = before + out.size

  /** Begins a row. */
  final def mark(): Unit = out.mark()

  /** Discards the bytes of the current row. Held bytes begin with a whole row, so no part of it has been sent. */
  final def reset(): Unit = out.reset()

  /** Ends a row, complete or discarded: the output may send its bytes. */
  def rowEnded(): Unit

  /** Ends the task's rows. */
  def finish(report: TaskReport): TaskMessage

  /** The number of bytes held. */
  final protected def holds: Long = out.size

  /** Passes on the held bytes. */
  final protected def send(write: (Array[Byte], Int) => Unit): Unit = {
    before += out.size
    out.drain(write)
  }

  /** A message with the held bytes. */
  final protected def held(report: TaskReport): TaskMessage = {
    val (chunks, lengths) = out.result()
    new InlineMessage(report, lengths.map(_.toLong).sum, ChunkedBytes.checksum(chunks, lengths), chunks, lengths)
  }
}
