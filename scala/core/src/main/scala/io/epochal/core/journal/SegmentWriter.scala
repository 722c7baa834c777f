package io.epochal.core.journal

import scala.util.Try

/** Writes a segment, in one thread: frames are appended, then the segment is sealed or discarded. */
final class SegmentWriter private[journal] (store: FileStore, val name: String, source: String, val from: Long) {
  private val header = SegmentFormat.header(source, from)
  private val frames = Vector.newBuilder[Frame]
  private var position = 0L
  private var row = from
  private var isOpen = true
  private val file = store.createUnique(name)
  write(header, 0, header.length)

  /** The row after the last appended one. */
  def until: Long = row

  /** So far. */
  def bytes: Long = position

  /** Appends a frame.
    *
    * @param rows
    *   the number of rows, at least 1
    * @param bytes
    *   holds the payload, from `offset` on
    * @throws java.io.IOException
    *   if the store fails; the segment is then discarded
    */
  def append(rows: Int, bytes: Array[Byte], offset: Int, length: Int): Unit = {
    require(isOpen, s"the segment $name has ended")
    require(rows > 0, "a frame without rows")
    val crc = SegmentFormat.frameCrc(rows, bytes, offset, length)
    write(SegmentFormat.frameHead(length, crc, rows), 0, SegmentFormat.FrameHead)
    frames += Frame(position, length, row, rows, crc)
    write(bytes, offset, length)
    row += rows
  }

  /** Ends the file. From then on an offset may name it (J3).
    *
    * @return
    *   the segment with its frames
    * @throws java.io.IOException
    *   if the store fails; the segment is then discarded
    */
  def seal(): (Segment, IndexedSeq[Frame]) = {
    require(isOpen && row > from, s"the segment $name has ended, or has no rows")
    val all = frames.result()
    val at = position
    val index = SegmentFormat.index(header, all)
    write(index, 0, index.length)
    attempt {
      file.sync()
      file.close()
    }
    isOpen = false
    (Segment(name, from, row, at, position, SegmentFormat.crcIn(index)), all)
  }

  /** Discards an unsealed segment. A sealed one stays. A file that cannot be removed is garbage, which no offset names (J2). */
  def giveUp(): Unit = if (isOpen) {
    isOpen = false
    Try(file.close()): Unit
    Try(store.delete(name)): Unit
  }

  private def write(bytes: Array[Byte], offset: Int, length: Int): Unit = {
    attempt(file.write(bytes, offset, length))
    position += length
  }

  private def attempt(body: => Unit): Unit =
    try body
    catch {
      case e: Throwable =>
        giveUp()
        throw e
    }
}
