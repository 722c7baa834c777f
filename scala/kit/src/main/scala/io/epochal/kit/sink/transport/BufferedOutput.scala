package io.epochal.kit.sink.transport

import io.epochal.kit.sink.row.{ChunkedBytes, RowEncoder, RowFormat}

/** Holds encoded rows, until they are sent on or the task's message takes them.
  *
  * @param maxBytes
  *   `onLimit` is called when it would hold more
  */
abstract private[epochal] class BufferedOutput(
    format: RowFormat,
    maxBytes: Long = Long.MaxValue,
    onLimit: () => Nothing = () => throw new IllegalStateException("no limit"))
    extends TaskOutput {

  private val out = new ChunkedBytes(maxBytes, onLimit)
  private var before = 0L

  final override val encoder: RowEncoder = format.encoder(out)
  final override def bytes: Long = before + out.size
  final override def mark(): Unit = out.mark()

  // What is held begins with a whole row, so a row that is taken back has not been sent.
  final override def reset(): Unit = out.reset()

  /** How many bytes it holds. */
  final protected def holds: Long = out.size

  /** Hands over what it holds. */
  final protected def send(write: (Array[Byte], Int) => Unit): Unit = {
    before += out.size
    out.drain(write)
  }

  /** A message with what it holds. */
  final protected def held(report: TaskReport): TaskMessage = {
    val (chunks, lengths) = out.result()
    new InlineMessage(report, lengths.map(_.toLong).sum, ChunkedBytes.checksum(chunks, lengths), chunks, lengths)
  }
}
