package io.epochal.core.journal

import scala.util.control.NonFatal

/** Writes a segment, in one thread: frames are appended, then the segment is sealed or discarded. */
final class SegmentWriter private[journal] (store: FileStore, val name: String, source: String, val from: Long) {
  import SegmentWriter._

  private val header = SegmentFormat.header(source, from)
  private val frames = Vector.newBuilder[Frame]
  private var position = 0L
  private var row = from
  private var state: State = Open
  private val file = store.create(name)
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
    require(state == Open, s"the segment $name is $state")
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
    require(state == Open && row > from, s"the segment $name is $state, with ${row - from} rows")
    val all = frames.result()
    val at = position
    val index = SegmentFormat.index(header, all)
    write(index, 0, index.length)
    attempt {
      file.sync()
      file.close()
    }
    state = Sealed
    (Segment(name, from, row, at, position, SegmentFormat.crcIn(index)), all)
  }

  /** Discards an unsealed segment. A sealed one stays. */
  def giveUp(): Unit = if (state == Open) {
    state = GivenUp
    quietly(file.close())
    quietly(store.delete(name))
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

private object SegmentWriter {

  /** Open → Sealed, or Open → GivenUp; both are final. */
  sealed trait State
  case object Open extends State
  case object Sealed extends State
  case object GivenUp extends State

  /** Cleans up a segment that no offset will name: a file that cannot be removed is garbage (J2). */
  private def quietly(body: => Unit): Unit =
    try body
    catch { case NonFatal(_) => () }
}
