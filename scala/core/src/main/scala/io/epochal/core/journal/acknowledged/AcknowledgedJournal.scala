package io.epochal.core.journal.acknowledged

import java.nio.file.NoSuchFileException
import java.util.UUID

import scala.util.{Try, Using}

import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.journal._

/** The journal of a source that acknowledges rows to its clients once they are durable. Acknowledged rows are delivered
  * even if the run dies before Spark logs an offset. In the [[io.epochal.core.journal.Journal]], by contrast, only rows
  * that an offset names count.
  *
  * The journal is a directory of segments: files to which frames are appended. Rows are numbered from 0 over all
  * segments. A frame holds the rows of one `append`, which one sync makes durable (group commit). A segment may begin
  * with ''carried state'': bytes that the caller keeps for longer than the rows, such as idempotency keys.
  * [[FrameFormat]] defines the bytes.
  *
  *   - '''A1''' A segment's name is unique. Its file is written by one run, which neither reopens it nor writes to it
  *     again after a failed write or sync.
  *   - '''A2''' A frame is written only after the frame before it was synced. So a broken frame with an intact one
  *     after it was damaged later. Without one, it is the torn tail of a run that died, and was never acknowledged.
  *   - '''A3''' A row is acknowledged, and delivered, only after its frame was synced and the run has then seen that
  *     its own generation is the highest and that the segment's file exists.
  *   - '''A4''' A new run reads all segments forward and takes over every intact frame: all acknowledged ones, and
  *     perhaps a last frame that was written and not acknowledged, or not even synced. So it rewrites the last frame
  *     into a segment of its own, before it delivers or acknowledges a row or restores state from it.
  *   - '''A5''' Segments are ordered by generation and number. A segment ends where a later one with rows begins: later
  *     rows in its file were never acknowledged, or are in the later segment too.
  *   - '''A6''' Rows are numbered without gaps. A missing row was damaged or removed: it is reported, and not mistaken
  *     for the end of the journal unless no row follows it.
  *   - '''A7''' A run first claims a generation, and then reads the segments.
  *   - '''A8''' A segment is removed only when all its rows lie before the last [[Journal.Kept]] committed epochs and a
  *     later segment holds the carried state. A run does not know the epochs of earlier runs: of the segments before
  *     its first committed epoch, the last [[Journal.Kept]] stay.
  *   - '''A9''' The newest carried state and the frames after it yield the whole state, whichever rows were removed.
  *   - '''A10''' Except for A8, a run removes a file of its own only if no other run can have taken over rows from it:
  *     it has never had an intact frame, or another file has acknowledged rows from the same number on. A fenced run
  *     removes nothing.
  *
  * No acknowledged row is lost if a run was frozen and wakes up after a new run has begun (A3, A7). The old run syncs a
  * frame at time s and reads the generations at time g, s < g. The new run claims a generation at time c and reads the
  * segments at time r, c < r.
  *
  *   - If c < g, the old run sees the claim, and acknowledges nothing from then on.
  *   - If g < c, then s < r: the new run reads the frame.
  *   - A segment that the old run begins after r begins after all rows that it has acknowledged, so not before the last
  *     frame that the new run has read. That frame is in a segment of a higher generation, too (A4), so the old segment
  *     does not count (A5).
  *
  * This requires a store in which every later listing shows a created file, and every later read returns the synced
  * bytes: local file systems, HDFS, S3.
  *
  * On a store that cannot sync open files, each frame has a segment of its own, which is durable once it is closed.
  *
  * Not guaranteed: that a row whose frame failed to sync is gone. It is not acknowledged, and this run does not deliver
  * it. But if the run dies or is fenced before it acknowledges another row, the next run may find the row intact, and
  * deliver it.
  *
  * {{{
  *   begin            append              sync          see the generation
  * ────────▶ Open ───────────▶ written ─────────▶ synced ──────────────────▶ acknowledged ── release ─▶ removed
  *             │                  │                 │
  *             └── a failure ─────┴─────────────────┴──▶ abandoned; the next segment begins before these rows (A5, A10)
  * }}}
  *
  * One thread at a time appends; one thread at a time, possibly another, plans and releases. Any thread may read its
  * state: `until`, `bytes`, `bytesFrom`, `isFenced`, `await`.
  */
final class AcknowledgedJournal private (
    store: FileStore,
    source: String,
    run: String,
    generation: Generation,
    segmentBytes: Long,
    recovered: Vector[SegmentIndex]
) extends AutoCloseable {
  private val mark = OpenSegment.mark(run)
  private var open = Option.empty[OpenSegment]
  // Of this run's newest segment.
  private var number = 0L
  // Bytes of the frames since this run last carried state; Long.MaxValue before it has.
  private var sinceCarried = Long.MaxValue

  /** Whether a failed append may have left an intact frame without acknowledged rows; the files that have only such
    * frames.
    */
  private var unsure = false
  private var doubtful = Vector.empty[String]

  @volatile private var fenced = false
  // The argument of `skipTo`.
  @volatile private var skipped = 0L
  @volatile private var segments = recovered
  // The ends of the last epochs committed.
  private var committed = Vector.empty[Long]
  // Released segments whose files still exist.
  private var garbage = Vector.empty[String]

  /** The row after the last acknowledged one. */
  def until: Long = math.max(skipped, segments.lastOption.fold(0L)(_.until))

  /** Whether another run has taken over. */
  def isFenced: Boolean = fenced

  /** The size of all segments, in bytes. */
  def bytes: Long = segments.map(_.bytes).sum

  /** Bytes of the frames with rows from `row` on. */
  def bytesFrom(row: Long): Long = segments.map(_.bytesFrom(row)).sum

  /** Appends a frame of rows and makes it durable (A2, A3): the rows may be acknowledged when this returns. After a
    * failure the next call begins a new segment.
    *
    * @param carry
    *   the state after all rows acknowledged so far; evaluated only if a new segment begins with it (A9)
    * @return
    *   the number of the first row
    * @throws java.io.IOException
    *   if the store fails, or the file was deleted meanwhile; these rows must not be acknowledged
    * @throws JournalFenced
    *   if another run has taken over; every later call then throws it too
    */
  def append(rows: Int, bytes: Array[Byte], offset: Int, length: Int)(carry: => Array[Byte]): Long = {
    require(rows > 0 && length > 0, "a frame without rows")
    if (fenced) throw new JournalFenced(generation.number)
    try {
      val segment = open.getOrElse(begin(carry))
      val frame = segment.append(rows, bytes, offset, length)
      fence()
      // A deleted file still accepts frames that no reader can find.
      if (!store.exists(segment.name)) throw new NoSuchFileException(segment.name)
      synchronized {
        segments = segments.lastOption match {
          case Some(last) if last.name == segment.name => segments.updated(segments.size - 1, last + frame)
          case _                                       => segments :+ indexOf(segment, frame)
        }
        notifyAll()
      }
      sinceCarried = if (segment.carried.nonEmpty && frame.first == segments.last.from) 0L else sinceCarried
      sinceCarried += length.toLong
      settle()
      if (!store.syncsOpenFiles) open = None
      else if (segments.last.bytes - segment.carried.fold(0L)(_.length.toLong) >= segmentBytes) seal()
      frame.first
    } catch {
      case e: Throwable =>
        abandon()
        throw e
    }
  }

  /** Sets the row up to which epochs were committed when this run began (A8). Only the first call counts, before
    * `release`.
    */
  def startFrom(row: Long): Unit = if (committed.isEmpty) committed = Vector(row)

  /** Numbers the next rows from `row` on if the journal ends before it: Spark's offsets name rows that are lost. */
  def skipTo(row: Long): Unit = if (row > until) {
    seal()
    doubtful = Vector.empty // Later rows do not begin before the doubtful ones.
    skipped = row
  }

  /** Waits at most `millis` until there is a row at `row`.
    *
    * @return
    *   whether there is one
    */
  def await(row: Long, millis: Long): Boolean = synchronized {
    val end = System.nanoTime() + math.min(millis, Long.MaxValue / 1000000L) * 1000000L
    var left = millis
    while (until <= row && left > 0) {
      wait(math.min(left, AcknowledgedJournal.LongestWait))
      left = (end - System.nanoTime()) / 1000000L
    }
    until > row
  }

  /** Plans the read of the rows from `from` to `until`, exclusive, with gaps for missing rows. The file of each planned
    * segment was checked to exist.
    */
  def plan(from: Long, until: Long): JournalPlan = {
    val reach = segments.filter(segment => segment.until > from && segment.from < until)
    val (there, gone) = reach.partition(segment => store.exists(segment.name))
    val slices = there.flatMap { segment =>
      val frames = segment.frames.iterator.drop(segment.framesBelow(from)).takeWhile(_.first < until)
      frames.map(Slice.of(segment.name, _, from, until))
    }
    val ends = slices.scanLeft(from)((_, slice) => slice.first + slice.take)
    val gaps = (ends zip slices.map(_.first).appended(until)).collect {
      case (at, next) if at < next =>
        val missing = gone.find(segment => segment.until > at && segment.from < next)
        Gap(at, next, missing.fold("they are damaged, or were removed")(one => s"the segment ${one.name} is not there"))
    }
    JournalPlan(slices, gaps, until)
  }

  /** The number of rows from `from` on that fit into so many bytes, estimated from the average size of a frame's rows.
    */
  def rowsWithin(from: Long, bytes: Long): Long = {
    val frames = segments.iterator.flatMap(segment => segment.frames.iterator.drop(segment.framesBelow(from)))
    var (rows, left) = (0L, bytes)
    while (left > 0 && frames.hasNext) {
      val frame = frames.next()
      val count = frame.until - math.max(from, frame.first)
      val size = math.max(1L, frame.length * count / frame.rows)
      rows += (if (size <= left) count else count * left / size)
      left -= size
    }
    rows
  }

  /** Commits an epoch, and removes segments that no replay can need any more (A8). Idempotent.
    *
    * @param end
    *   the row after the last one of the epoch
    * @throws java.io.IOException
    *   if a segment cannot be removed: the epoch is committed nevertheless, and the next one removes the segment
    */
  def release(end: Long): Unit = if (!committed.lastOption.exists(_ >= end)) {
    committed = (committed :+ end).takeRight(Journal.Kept + 1)
    val known = committed.size > Journal.Kept
    garbage ++= synchronized {
      val carrying = segments.lastIndexWhere(_.carried.nonEmpty)
      val below = segments.take(carrying).takeWhile(_.until <= committed.head)
      val free = if (known) below else below.dropRight(Journal.Kept)
      segments = segments.drop(free.size)
      free.map(_.name)
    }
    // Retried after the next epoch.
    val failures = garbage.flatMap(name => Try(store.delete(name)).failed.toOption.map(name -> _))
    if (failures.size < garbage.size) Failpoints.reach(Failpoint.SegmentsRemoved)
    garbage = failures.map(_._1)
    failures.headOption.foreach(failure => throw failure._2)
  }

  /** Removes the files of earlier runs that are not part of the journal: none of their rows count (A5). */
  def sweep(): Unit = {
    val known = segments.map(_.name).toSet
    store
      .names()
      .filter(name => SegmentIndex.parse(name).exists(_._1 < generation.number) && !known(name))
      .foreach(name => Try(store.delete(name)))
  }

  /** Restores the caller's state (A9): passes on the newest carried state, then the payload of each frame after it, in
    * order. Must be called before the first `append`.
    *
    * @param payload
    *   receives an array, which is reused after the call, and the length of the payload in it
    * @throws JournalDamage
    *   if a frame, or the only carried state, cannot be read as it was written
    */
  def restore(carried: Array[Byte] => Unit)(payload: (Array[Byte], Int) => Unit): Unit = {
    val carrying = segments.lastIndexWhere(_.carried.nonEmpty)
    // The state of row 0 is the caller's first one.
    if (carrying < 0)
      segments.headOption.filter(_.from > 0).foreach(first => throw new JournalDamage(first.name, "it lacks its state"))
    segments.drop(math.max(0, carrying)).foreach { segment =>
      try
        Using.resource(store.open(segment.name)) { file =>
          var bytes = Array.emptyByteArray
          (segment.carried.toSeq ++ segment.frames).foreach { frame =>
            bytes = read(file, segment.name, frame, if (frame.rows == 0) Array.emptyByteArray else bytes)
            if (frame.rows == 0) carried(bytes) else payload(bytes, frame.length)
          }
        }
      catch { case _: NoSuchFileException => throw new JournalDamage(segment.name, "it is not there") }
    }
  }

  /** Ends the current segment. Later appends begin a new one. */
  override def close(): Unit = seal()

  /** Rewrites the last recovered frame into this run's first segment (A4). If the frame is the only one of its segment,
    * the new segment replaces the old one, with its carried state.
    */
  private def takeOver(): Unit = recovered.lastOption.foreach { last =>
    val (rest, frame) = (last.before(last.frames.last.first), last.frames.last)
    val alone = rest.frames.isEmpty
    val (payload, state) = Using.resource(store.open(last.name)) { file =>
      def bytesOf(frame: Frame) = read(file, last.name, frame, Array.emptyByteArray)
      (bytesOf(frame), last.carried.filter(_ => alone).map(bytesOf))
    }
    val segment = newSegment(frame.first, state)
    try {
      val copy = segment.append(frame.rows, payload, 0, frame.length)
      fence()
      segments = recovered.init ++ Option.when(!alone)(rest) :+ indexOf(segment, copy)
    } finally segment.close()
  }

  /** Reads the payload of a frame, into the given array if it is large enough. */
  private def read(file: FileInput, name: String, frame: Frame, into: Array[Byte]): Array[Byte] = {
    val bytes = if (into.length < frame.length) new Array[Byte](frame.length) else into
    Journal.read(file, Slice(name, frame, 0, frame.rows))(_ => bytes)
    bytes
  }

  private def begin(carry: => Array[Byte]): OpenSegment = {
    // Another run may have taken the failed rows over: no segment may begin before them then.
    if (unsure) fence()
    val segment = newSegment(until, Option.when(sinceCarried >= segmentBytes || store.syncsOpenFiles)(carry))
    open = Some(segment)
    segment
  }

  private def newSegment(from: Long, state: Option[Array[Byte]]): OpenSegment = {
    number += 1
    new OpenSegment(store, SegmentIndex.name(generation.number, number, run), mark, source, from, state)
  }

  /** The index of the newest segment, with its first frame. */
  private def indexOf(segment: OpenSegment, frame: Frame): SegmentIndex =
    SegmentIndex(segment.name, generation.number, number, frame.first, segment.carried, Vector.empty, 0L) + frame

  private def seal(): Unit = {
    open.foreach(_.close())
    open = None
  }

  /** Gives up the current segment after a failure (A1), and removes its file if nothing can be in it (A10). */
  private def abandon(): Unit = {
    open.foreach { segment =>
      segment.close()
      unsure ||= segment.mayHoldRows
      if (!fenced && !segments.exists(_.name == segment.name)) {
        if (segment.mayHoldRows) doubtful :+= segment.name
        else Try(store.delete(segment.name)): Unit
      }
    }
    open = None
  }

  /** Removes the doubtful files after an append: a run that takes over from now on reads the acknowledged rows instead
    * (A5, A7), so A10 allows it.
    */
  private def settle(): Unit = {
    doubtful.foreach(name => Try(store.delete(name)))
    doubtful = Vector.empty
    unsure = false
  }

  /** Fails if another run has claimed this generation or a higher one. */
  private def fence(): Unit = if (!generation.isOwn) {
    fenced = true
    throw new JournalFenced(generation.number)
  }
}

object AcknowledgedJournal {

  /** In milliseconds: a waiting thread notices an interruption at once, and the unexpected end of the journal's thread
    * within a second.
    */
  private val LongestWait = 1000L

  /** The size at which a segment is ended: small enough that delivered parts of a long backlog can be removed before
    * all of it is delivered.
    */
  val SegmentBytes: Long = 64L << 20

  /** Takes the journal over from the previous run: claims a generation, recovers the acknowledged rows, and rewrites
    * the last frame (A4, A7).
    *
    * @param generations
    *   the separate directory of generations
    * @param source
    *   the identity of the source, written into every segment
    * @throws JournalDamage
    *   if a segment belongs to another source or has a newer version
    * @throws java.io.IOException
    *   if the store fails
    * @throws JournalFenced
    *   if yet another run has taken over meanwhile
    */
  def take(
      store: FileStore,
      generations: FileStore,
      source: String,
      segmentBytes: Long = SegmentBytes,
      run: String = UUID.randomUUID().toString.replace("-", "")
  ): AcknowledgedJournal = {
    val known = store.names().flatMap(SegmentIndex.parse(_)).map(_._1).maxOption.getOrElse(0L)
    val generation = Generation.claim(generations, run, known)
    val journal =
      new AcknowledgedJournal(store, source, run, generation, segmentBytes, Recovery.segments(store, source))
    journal.takeOver()
    journal
  }
}

/** Another run has taken the journal over: this run, of the given generation, must acknowledge nothing any more. */
final class JournalFenced(val generation: Long)
    extends Exception(s"A run with a higher generation than $generation has taken over")
