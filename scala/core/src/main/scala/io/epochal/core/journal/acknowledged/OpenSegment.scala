package io.epochal.core.journal.acknowledged

import java.nio.ByteBuffer

import scala.util.Try

import io.epochal.core.journal.{FileStore, Frame, SegmentFormat}

/** A segment while it is written, by one thread. After any failure it must be abandoned: what a failed write or sync left is not
  * known (A1).
  *
  * @param carry
  *   the state that it begins with, if any
  */
final private[acknowledged] class OpenSegment(
    store: FileStore,
    val name: String,
    mark: Long,
    source: String,
    from: Long,
    carry: Option[Array[Byte]]
) {
  private val file = store.create(name)
  private var position = 0L
  private var row = from

  private val header = FrameFormat.header(mark, from, source)
  private var headerWritten = false
  private var mayHold = false

  /** Where the carried state is. */
  val carried: Option[Frame] = carry.map { state =>
    frame(header.length.toLong, 0, state, 0, state.length)
  }

  /** Whether a reader may find a whole frame with rows in it, synced or not. */
  def mayHoldRows: Boolean = mayHold

  /** Adds rows and makes them durable; where the store syncs no open files, the segment is closed by that. */
  def append(rows: Int, bytes: Array[Byte], offset: Int, length: Int): Frame = {
    if (!headerWritten) writeHeader()
    val added = frame(position, rows, bytes, offset, length)
    put(FrameFormat.head(mark, added))
    // The last byte apart: a frame of which the store never got it is not whole, whatever became of the others.
    file.write(bytes, offset, length - 1)
    mayHold = true
    file.write(bytes, offset + length - 1, 1)
    position += length
    row = added.until
    file.sync()
    if (!store.syncsOpenFiles) file.close()
    added
  }

  /** Closes it. What was synced is durable, also where that fails. */
  def close(): Unit = Try(file.close()): Unit

  private def frame(at: Long, rows: Int, bytes: Array[Byte], offset: Int, length: Int): Frame =
    Frame(at + FrameFormat.HeadLength, length, row, rows, SegmentFormat.frameCrc(rows, bytes, offset, length))

  private def writeHeader(): Unit = {
    headerWritten = true
    put(header)
    carry.zip(carried).foreach { case (state, frame) =>
      put(FrameFormat.head(mark, frame))
      put(state)
    }
  }

  private def put(bytes: Array[Byte]): Unit = {
    file.write(bytes, 0, bytes.length)
    position += bytes.length
  }
}

private[acknowledged] object OpenSegment {

  /** The mark of a run's frames: clients do not know it, so no payload of theirs looks like a frame. */
  def mark(run: String): Long = ByteBuffer.wrap(java.util.HexFormat.of.parseHex(run.take(16))).getLong
}
