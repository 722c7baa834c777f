package io.epochal.core.journal.acknowledged

import java.io.EOFException
import java.nio.ByteBuffer
import java.nio.file.NoSuchFileException
import java.util.Locale

import scala.util.Using

import io.epochal.core.journal.{FileInput, FileStore, Frame, Journal, JournalDamage, Slice}

/** Recovers the rows that earlier runs acknowledged: reads all segments forward, and checks every frame. */
private[acknowledged] object Recovery {
  private val Block = 1 << 20

  /** The segments with rows, in row order. Their last frame may have been written but not synced. State that a segment without
    * rows carries belongs to the segments before it, which all exist.
    *
    * @throws JournalDamage
    *   if a segment belongs to another source or has a newer version
    */
  def segments(store: FileStore, source: String): Vector[SegmentIndex] = {
    val names = store.names().flatMap(name => SegmentIndex.parse(name).map(_ -> name)).sorted.map(_._2).toVector
    val found = names.flatMap(segment(store, source, _)).filter(_.frames.nonEmpty)
    // From the last segment: where does the next one begin (A5)?
    val limits = found.map(_.from).scanRight(Long.MaxValue)(math.min).drop(1)
    (found zip limits).map { case (segment, limit) => segment.before(limit) }.filter(_.frames.nonEmpty)
  }

  /** The positions of a segment's intact frames; None if the segment was removed meanwhile. */
  private def segment(store: FileStore, source: String, name: String): Option[SegmentIndex] =
    try
      Using.resource(store.open(name)) { file =>
        FrameFormat.readHeader(bytesOf(file, _, _), source) match {
          case Some(Left(reason))  => throw new JournalDamage(name, reason)
          case Some(Right(header)) => Some(new SegmentScan(file, name, header).index())
          case None => headless(new SegmentScan(file, name, Header(0L, SegmentIndex.mark(name), 0)).index())
        }
      }
    catch { case _: NoSuchFileException => None }

  /** Without an intact header there is no frame, or the header was damaged later. */
  private def headless(index: SegmentIndex): Option[SegmentIndex] =
    index.frames.headOption.map(frame => index.copy(from = frame.first))

  private def bytesOf(file: FileInput, position: Long, length: Int): Option[Array[Byte]] =
    if (position + length > file.length) None
    else
      try {
        val bytes = new Array[Byte](length)
        file.read(position, bytes, 0, length)
        Some(bytes)
      } catch { case _: EOFException => None }

  final private class SegmentScan(file: FileInput, name: String, header: Header) {
    private var payload = new Array[Byte](Block)
    private val mark = ByteBuffer.allocate(8).putLong(header.mark).array

    def index(): SegmentIndex = {
      val (generation, number) = SegmentIndex.parse(name).getOrElse((0L, 0L))
      var carried = Option.empty[Frame]
      val frames = Vector.newBuilder[Frame]
      var row = header.from
      var position = header.length.toLong
      var end = position
      while (position >= 0) frameAt(position, row) match {
        case Some(frame) =>
          if (frame.rows == 0) carried = Some(frame) else frames += frame
          row = frame.until
          position = frame.position + frame.length
          end = position
        // An intact frame after a broken one: the broken frame was synced before the next was written (A2), so it is damaged,
        // and the rows between are a gap. Without an intact frame after it, it is the tail of a run that died.
        case None => position = nextMark(position + 1, row)
      }
      SegmentIndex(name, generation, number, header.from, carried, frames.result(), end)
    }

    /** The frame at a position, if it is intact and its rows do not come before `row`. */
    private def frameAt(position: Long, row: Long): Option[Frame] =
      bytesOf(file, position, FrameFormat.HeadLength)
        .flatMap(FrameFormat.readHead(_, header.mark, position + FrameFormat.HeadLength))
        .filter(frame => frame.first >= row && frame.position + frame.length <= file.length && isWhole(frame))

    private def isWhole(frame: Frame): Boolean = {
      if (payload.length < frame.length) payload = new Array[Byte](frame.length)
      try {
        Journal.read(file, Slice(name, frame, 0, frame.rows))(_ => payload)
        true
      } catch { case _: JournalDamage => false }
    }

    /** The next intact frame from a position on; -1 if there is none. */
    @scala.annotation.tailrec
    private def nextMark(from: Long, row: Long): Long = {
      val length = math.min(Block.toLong, file.length - from).toInt
      val bytes = if (length < FrameFormat.HeadLength) None else bytesOf(file, from, length)
      bytes match {
        case None => -1
        case Some(block) =>
          val candidates = Iterator
            .iterate(block.indexOfSlice(mark))(at => block.indexOfSlice(mark, at + 1))
            .takeWhile(_ >= 0)
            .map(from + _)
          candidates.find(frameAt(_, row).nonEmpty) match {
            case Some(position) => position
            case None           => nextMark(from + length - mark.length + 1, row)
          }
      }
    }
  }
}

/** The positions of a segment's intact frames. Immutable.
  *
  * @param generation
  *   of the run that wrote it
  * @param number
  *   its index among that run's segments
  * @param from
  *   its first row
  * @param carried
  *   the frame with the carried state
  * @param bytes
  *   up to the end of its last intact frame
  */
final private[acknowledged] case class SegmentIndex(
    name: String,
    generation: Long,
    number: Long,
    from: Long,
    carried: Option[Frame],
    frames: Vector[Frame],
    bytes: Long
) {

  /** The row after the last. */
  def until: Long = frames.lastOption.fold(from)(_.until)

  def +(frame: Frame): SegmentIndex = copy(frames = frames :+ frame, bytes = frame.position + frame.length)

  /** Drops the frames that reach beyond a row, where the next segment begins. */
  def before(row: Long): SegmentIndex =
    if (until <= row) this
    else {
      val kept = frames.takeWhile(_.until <= row)
      copy(frames = kept, bytes = kept.lastOption.fold(0L)(last => last.position + last.length))
    }

  /** The number of frames that lie wholly below a row. */
  def framesBelow(row: Long): Int = {
    var (low, high) = (0, frames.length)
    while (low < high) {
      val middle = (low + high) >>> 1
      if (frames(middle).until <= row) low = middle + 1 else high = middle
    }
    low
  }

  /** The bytes of the frames that do not lie wholly below a row. */
  def bytesFrom(row: Long): Long = {
    val below = framesBelow(row)
    if (below == frames.length) 0L else bytes - frames(below).position + FrameFormat.HeadLength
  }
}

private[acknowledged] object SegmentIndex {
  private val Name = "(\\d{19})-(\\d{9,18})-([0-9a-f]{32})[.]ack".r

  def name(generation: Long, number: Long, run: String): String =
    s"${"%019d-%09d".formatLocal(Locale.ROOT, generation, number)}-$run.ack"

  /** Generation and number in a segment's name, which define the order of segments; None if it is not a segment's name. */
  def parse(name: String): Option[(Long, Long)] = name match {
    case Name(generation, number, _) => generation.toLongOption.zip(number.toLongOption)
    case _                           => None
  }

  /** The mark of the frames of a segment with this name: see [[OpenSegment.mark]]. */
  def mark(name: String): Long = name match {
    case Name(_, _, run) => OpenSegment.mark(run)
    case _               => throw new IllegalArgumentException(s"$name is no segment's name")
  }
}
