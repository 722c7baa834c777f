package io.epochal.core.journal.acknowledged

import java.io.EOFException
import java.nio.ByteBuffer
import java.nio.file.NoSuchFileException

import scala.util.Using

import io.epochal.core.journal.{FileInput, FileStore, Frame, Journal, JournalDamage, ParallelReads, Slice}

/** Recovers the rows that earlier runs acknowledged: reads all segments forward, and checks every frame. */
private[acknowledged] object Recovery {
  private val Block = 1 << 20

  /** Maximum bytes of files that are read once and kept until the state is restored. */
  private val CachedBytes = 64L << 20

  /** Reads each file once. State that a segment without rows carries belongs to the segments before it, which all exist.
    *
    * @throws JournalDamage
    *   if a segment belongs to another source or has a newer version
    */
  def segments(store: FileStore, source: String): Recovered = {
    val lengths = store.lengths()
    val names = lengths.keys.flatMap(name => SegmentIndex.parse(name).map(_ -> name)).toVector.sorted.map(_._2)
    // From the last file back: the contents of the last ones are kept.
    val sums = names.reverseIterator
      .map(name => name -> lengths(name))
      .scanLeft("" -> 0L)((sum, next) => next._1 -> (sum._2 + next._2))
    val cache = if (store.syncsOpenFiles) Set.empty[String] else sums.takeWhile(_._2 <= CachedBytes).map(_._1).toSet
    val indexes = Vector.newBuilder[SegmentIndex]
    var barriers = Set.empty[String]
    var contents = Map.empty[String, Array[Byte]]
    ParallelReads(names)(scan(store, source, _, lengths)) { case (name, index, content) =>
      index.foreach { case (header, segment) =>
        if (segment.frames.nonEmpty) {
          indexes += segment
          content.filter(_ => cache(name)).foreach(bytes => contents += name -> bytes)
        } else if (header.mark != SegmentIndex.mark(name)) barriers += name
      }
    }
    // From the last segment: where does the next one begin (A5)?
    val all = indexes.result()
    val limits = all.map(_.from).scanRight(Long.MaxValue)(math.min).drop(1)
    val counting = (all zip limits).map { case (segment, limit) => segment.before(limit) }.filter(_.frames.nonEmpty)
    Recovered(SegmentIndex.counted(counting), barriers, contents)
  }

  /** A file's header and the positions of its intact frames, and the content of a small file of an object store; None for both if
    * the file was removed meanwhile.
    */
  private def scan(
      store: FileStore,
      source: String,
      name: String,
      lengths: Map[String, Long]): (String, Option[(Header, SegmentIndex)], Option[Array[Byte]]) =
    try
      Using.resource(store.open(name, lengths(name))) { file =>
        if (store.syncsOpenFiles || lengths(name) > ParallelReads.SmallFile) (name, segment(file, name, source), None)
        else {
          val bytes = FileInput.bytes(file, 0, lengths(name))
          (name, segment(FileInput.of(bytes), name, source), Some(bytes))
        }
      }
    catch { case _: NoSuchFileException => (name, None, None) }

  private def segment(file: FileInput, name: String, source: String): Option[(Header, SegmentIndex)] =
    FrameFormat.readHeader(bytesOf(file, _, _), name, source) match {
      case Some(header) => Some(header -> new SegmentScan(file, name, header).index())
      case None =>
        val header = Header(0L, SegmentIndex.mark(name), 0)
        headless(new SegmentScan(file, name, header).index()).map(header -> _)
    }

  /** A file's header, and its intact frames with rows. */
  def read(store: FileStore, name: String, source: String): (Option[Header], Seq[Frame]) =
    Using.resource(store.open(name)) { file =>
      val index = segment(file, name, source)
      (index.map(_._1), index.toSeq.flatMap(_._2.frames))
    }

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
      var stateFrame = Option.empty[Frame]
      val frames = Vector.newBuilder[Frame]
      var row = header.from
      var position = header.length.toLong
      var end = position
      while (position >= 0) frameAt(position, row) match {
        case Some(frame) =>
          if (frame.rows == 0) stateFrame = Some(frame) else frames += frame
          row = frame.until
          position = frame.position + frame.length
          end = position
        // An intact frame after a broken one: the broken frame was synced before the next was written (A2), so it is damaged,
        // and the rows between are a gap. Without an intact frame after it, it is the tail of a run that died.
        case None => position = nextMark(position + 1, row)
      }
      SegmentIndex(name, generation, number, header.from, stateFrame, frames.result(), end)
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
