package io.epochal.core.journal.acknowledged

import java.nio.ByteBuffer

import scala.util.Try

import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.journal.{FileOutput, FileStore, Frame, SegmentFormat}

/** Writes a segment, in one thread. After any failure it must be abandoned: the result of a failed write or sync is unknown
  * (A1).
  *
  * @param carry
  *   the state that the segment begins with, if any
  * @param file
  *   a new one
  * @param version
  *   of the format
  */
final private[acknowledged] class OpenSegment(
    store: FileStore,
    val name: String,
    val number: Long,
    file: FileOutput,
    version: Int,
    mark: Long,
    source: String,
    val from: Long,
    carry: Option[Array[Byte]]
) {
  private var position = 0L
  private var row = from

  private val header = FrameFormat.header(version, mark, from, source)
  private var headerWritten = false
  private var mayHold = false
  private var newest = Option.empty[Frame]

  /** The frame of the carried state. */
  val carried: Option[Frame] = carry.map { state =>
    frame(header.length.toLong, 0, state, 0, state.length)
  }

  /** The frame of the last append, which may have failed. */
  def attempt: Option[Frame] = newest

  /** Whether a reader may find an intact frame with rows in it, synced or not. */
  def mayHoldRows: Boolean = mayHold

  /** Appends rows and makes them durable; if the store cannot sync open files, this closes the segment. */
  def append(rows: Int, bytes: Array[Byte], offset: Int, length: Int): Frame = {
    if (!headerWritten) writeHeader()
    val newFrame = frame(position, rows, bytes, offset, length)
    newest = Some(newFrame)
    put(FrameFormat.head(mark, newFrame))
    // The last byte is written separately: without it the frame is not intact, whichever other bytes the store has kept.
    file.write(bytes, offset, length - 1)
    mayHold = true
    file.write(bytes, offset + length - 1, 1)
    position += length
    row = newFrame.until
    Failpoints.reach(Failpoint.FrameWritten)
    file.sync()
    if (!store.syncsOpenFiles) file.close()
    Failpoints.reach(Failpoint.FrameSynced)
    newFrame
  }

  /** Closes the segment. Synced frames stay durable even if closing fails. */
  def close(): Unit = Try(file.close()): Unit

  /** Closes the segment after a failure. */
  def abandon(): Unit = Try(file.abandon()): Unit

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

  /** The mark of a run's frames: clients do not know it, so none of their payloads can look like a frame. */
  def mark(run: String): Long = ByteBuffer.wrap(java.util.HexFormat.of.parseHex(run.take(16))).getLong
}
