package io.epochal.core.journal.acknowledged

import java.io.IOException
import java.nio.file.{FileAlreadyExistsException, NoSuchFileException}

import scala.util.Try

import io.epochal.core.journal.{FileStore, Frame, Generation}

/** The segments that a run writes, and the proof for each frame that it may be acknowledged (A1, A3, A10, A11). One thread
  * appends; any may ask `isFenced`.
  */
final private[acknowledged] class RunSegments(store: FileStore, source: String, run: String, generation: Generation) {
  private val mark = OpenSegment.mark(run)
  private var open = Option.empty[OpenSegment]
  // The number of the newest segment; with A11, of the newest that exists.
  private var number = 0L

  /** Whether a failed append may have left an intact frame whose rows are not acknowledged; the files that have only such frames. */
  private var unsure = false
  private var doubtful = Vector.empty[String]

  @volatile private var fenced = false

  /** Whether another run has taken over. */
  def isFenced: Boolean = fenced

  /** Appends a frame to the current segment, or to a new one.
    *
    * @param from
    *   the first row of a new segment
    * @param state
    *   carried by a new segment
    * @return
    *   the segment without the frame, and the frame, which may be acknowledged
    * @throws java.io.IOException
    *   if the frame may not be durable: `abandon` must follow
    * @throws JournalFenced
    *   if another run has taken over
    */
  @scala.annotation.tailrec
  def append(rows: Int, bytes: Array[Byte], offset: Int, length: Int)(
      from: Long,
      state: => Option[Array[Byte]]): (SegmentIndex, Frame) = {
    val segment = open.getOrElse(begin(from, state))
    put(segment, rows, bytes, offset, length) match {
      case Some(frame) =>
        if (!generation.isConditional) fence()
        // A deleted file still accepts frames that no reader can find.
        if (store.syncsOpenFiles && !store.exists(segment.name)) throw new NoSuchFileException(segment.name)
        if (!store.syncsOpenFiles) open = None
        (indexOf(segment), frame)
      case None =>
        doubtful :+= segment.name
        open = None
        append(rows, bytes, offset, length)(from, state)
    }
  }

  /** Appends a frame to a segment. If its name is taken (A11), the file shows by whom: by this run, if the store executed a request
    * that it reported as failed, or by another run.
    *
    * @return
    *   None: the segment has the frame of a failed append
    */
  private def put(segment: OpenSegment, rows: Int, bytes: Array[Byte], offset: Int, length: Int): Option[Frame] =
    try {
      val frame = segment.append(rows, bytes, offset, length)
      number = segment.number
      Some(frame)
    } catch {
      case _: FileAlreadyExistsException if generation.isConditional =>
        val (header, frames) = Recovery.read(store, segment.name, source)
        if (!header.exists(_.mark == mark)) throw fenceError()
        number = segment.number
        segment.attempt.filter(frames.contains)
    }

  private def begin(from: Long, state: Option[Array[Byte]]): OpenSegment = {
    // Another run may have taken the failed rows over: no segment may begin before them then.
    if (unsure) fence()
    val next = number + 1
    if (!generation.isConditional) number = next
    val name = SegmentIndex.name(generation.number, next, run)
    val version = if (generation.isConditional) FrameFormat.ConditionalVersion else FrameFormat.Version
    val file =
      if (generation.isConditional)
        store.createConditionally(name).getOrElse(throw new IOException(s"$name cannot be created conditionally"))
      else store.createUnique(name)
    val segment = new OpenSegment(store, name, next, file, version, mark, source, from, state)
    open = Some(segment)
    segment
  }

  private def indexOf(segment: OpenSegment): SegmentIndex =
    SegmentIndex(segment.name, generation.number, segment.number, segment.from, segment.carried, Vector.empty, 0L)

  def seal(): Unit = {
    open.foreach(_.close())
    open = None
  }

  /** Ends the current segment, and with A11 the run: it must not append any more. */
  def close(): Unit = {
    seal()
    if (generation.isConditional && !fenced) Try(generation.end()): Unit
  }

  /** Gives up the current segment after a failure (A1), and removes its file if nothing can be in it (A10). With A11 the next
    * append finds out whether the file exists.
    *
    * @param counts
    *   whether the segment of a name has acknowledged rows
    */
  def abandon(counts: String => Boolean): Unit = {
    open.foreach { segment =>
      segment.abandon()
      if (!generation.isConditional) {
        unsure ||= segment.mayHoldRows
        if (!fenced && !counts(segment.name)) {
          if (segment.mayHoldRows) doubtful :+= segment.name
          else Try(store.delete(segment.name)): Unit
        }
      }
    }
    open = None
  }

  /** Forgets the doubtful files without removing them: later rows do not begin before theirs. */
  def keepDoubtful(): Unit = doubtful = Vector.empty

  /** Removes the doubtful files after an append: a run that takes over from now on reads the acknowledged rows instead
    * (A5, A7), so A10 allows it.
    */
  def settle(): Unit = {
    if (doubtful.nonEmpty) store.deleteAll(doubtful): Unit
    doubtful = Vector.empty
    unsure = false
  }

  /** Fails if another run has claimed this generation or a higher one. */
  private def fence(): Unit = if (!generation.isOwn) throw fenceError()

  private def fenceError(): JournalFenced = {
    fenced = true
    new JournalFenced(generation.number)
  }
}
