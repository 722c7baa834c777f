package io.epochal.core.journal.acknowledged

import java.nio.file.NoSuchFileException
import java.util.UUID

import scala.util.Using

import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.journal.{
  FileInput,
  FileStore,
  Frame,
  Generation,
  Journal,
  JournalDamage,
  JournalPlan,
  ParallelReads,
  Slice
}

/** The journal of a source that acknowledges rows to its clients once they are durable. Acknowledged rows are delivered
  * even if the run dies before Spark logs an offset. In the [[io.epochal.core.journal.Journal]], by contrast, only rows
  * that an offset names count.
  *
  * The journal is a directory of segments: files to which frames are appended. Rows are numbered from 0 over all
  * segments. A frame holds the rows of one `append`, which one sync makes durable (group commit). A segment may begin
  * with ''carried state'': bytes that the caller keeps for longer than the rows, such as idempotency keys.
  * [[FrameFormat]] defines the bytes.
  *
  *   - '''A1''' A segment's name belongs to one run. The run neither reopens its file nor writes to it again after a failed
  *     write or sync.
  *   - '''A2''' A frame is written only after the frame before it was synced. So a broken frame with an intact one
  *     after it was damaged later. Without one, it is the torn tail of a run that died, and was never acknowledged.
  *   - '''A3''' A row is acknowledged, and delivered, only after its frame was synced and the run has then seen that
  *     its own generation is the highest and that a segment's file that is still open exists. Conditional creation (A11)
  *     shows both: the frame is synced by it, and nothing more is read.
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
  *   - '''A11''' If the store creates files conditionally, a run numbers its segments from 1 without gaps, and creates each only if
  *     no file has its name: number n + 1 only after n exists with a frame of its own. Before a new run reads the segments, it
  *     creates a ''barrier'' under the next number of every earlier run that has not closed its journal: a file without frames,
  *     which is never removed. A run whose number is taken by a barrier is fenced. A run that cannot create barriers does not
  *     take over from one that relies on them.
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
  * With conditional creation (A11) the old run acknowledges without looking. Let b be the number of its barrier. It has created
  * all numbers below b, in order, and before the barrier, because the barrier was created at a number whose predecessor existed:
  * the new run, which reads the segments after that, reads them all. It never creates b or a higher number.
  *
  * This requires a store in which every later listing shows a created file, and every later read returns the synced
  * bytes: local file systems, HDFS, S3.
  *
  * On a store that cannot sync open files, each frame has a segment of its own, which is durable once it is closed. To keep their
  * number small, state is carried after every committed epoch there, unless the state is larger than what came since.
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
    val run: String,
    generation: Generation,
    segmentBytes: Long,
    recovered: Recovered
) extends AutoCloseable {
  import AcknowledgedJournal._

  private val runSegments = new RunSegments(store, source, run, generation)
  // Bytes of the frames since this run last carried state, Long.MaxValue before it has; their number; the size of that state.
  private var sinceCarried = Long.MaxValue
  private var framesSinceCarried = 0
  private var carriedBytes = 0L
  @volatile private var hasCommitted = false

  // The argument of `skipTo`.
  @volatile private var skippedRows = 0L
  @volatile private var segments = Segments(recovered.segments)
  // The contents of recovered files, until the state is restored.
  private var contents = recovered.contents
  // The ends of the last epochs committed.
  private var commits = Vector.empty[Long]
  // Released segments whose files still exist.
  private var garbage = Vector.empty[String]

  /** The row after the last acknowledged one. */
  def until: Long = math.max(skippedRows, segments.until)

  /** Whether another run has taken over. */
  def isFenced: Boolean = runSegments.isFenced

  /** The size of all segments, in bytes. */
  def bytes: Long = segments.bytes

  /** Bytes of the frames with rows from `row` on. */
  def bytesFrom(row: Long): Long = segments.bytesFrom(row)

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
    if (isFenced) throw new JournalFenced(generation.number)
    try {
      val (segment, frame) = runSegments.append(rows, bytes, offset, length)(until, stateToCarry(carry))
      synchronized {
        segments += (segment, frame)
        notifyAll()
      }
      count(segment, frame)
      runSegments.settle()
      if (segments.all.last.bytes - segment.carried.fold(0L)(_.length.toLong) >= segmentBytes) runSegments.seal()
      frame.first
    } catch {
      case e: Throwable =>
        runSegments.abandon(name => segments.all.exists(_.name == name))
        throw e
    }
  }

  /** Sets the row up to which epochs were committed when this run began (A8). Only the first call counts, before
    * `release`.
    */
  def startFrom(row: Long): Unit = if (commits.isEmpty) commits = Vector(row)

  /** Numbers the next rows from `row` on if the journal ends before it: Spark's offsets name rows that are lost. */
  def skipTo(row: Long): Unit = if (row > until) {
    runSegments.seal()
    runSegments.keepDoubtful()
    skippedRows = row
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
    * segment was listed.
    */
  def plan(from: Long, until: Long): JournalPlan = segments.plan(from, until, store.names().toSet)

  /** The number of rows from `from` on that fit into so many bytes, estimated from the average size of a frame's rows.
    */
  def rowsWithin(from: Long, bytes: Long): Long = segments.rowsWithin(from, bytes)

  /** Commits an epoch, and removes segments that no replay can need any more (A8). Idempotent.
    *
    * @param end
    *   the row after the last one of the epoch
    * @throws java.io.IOException
    *   if a segment cannot be removed: the epoch is committed nevertheless, and the next one removes the segment
    */
  def release(end: Long): Unit = if (!commits.lastOption.exists(_ >= end)) {
    commits = (commits :+ end).takeRight(Journal.Kept + 1)
    val known = commits.size > Journal.Kept
    garbage ++= synchronized {
      val below = segments.all.take(segments.carrying).takeWhile(_.until <= commits.head)
      val free = if (known) below else below.dropRight(Journal.Kept)
      segments = Segments(segments.all.drop(free.size))
      free.map(_.name)
    }
    hasCommitted = true
    // Retried after the next epoch.
    val failures = store.deleteAll(garbage)
    if (failures.size < garbage.size) Failpoints.reach(Failpoint.SegmentsRemoved)
    garbage = failures.map(_._1).toVector
    failures.headOption.foreach(failure => throw failure._2)
  }

  /** Removes the files of earlier runs that are not part of the journal: none of their rows count (A5). */
  def sweep(): Unit = {
    val live = segments.all.map(_.name).toSet ++ recovered.barriers
    store.deleteAll(
      store.names().filter(name => SegmentIndex.parse(name).exists(_._1 < generation.number) && !live(name))): Unit
  }

  /** Restores the caller's state (A9): passes on the newest carried state, then the payload of each frame after it, in
    * order. Must be called before the first `append`.
    *
    * @param payload
    *   receives an array, which is reused after the call, and the length of the payload in it
    * @throws JournalDamage
    *   if a frame, or the only carried state, cannot be read as it was written
    */
  def restore(onState: Array[Byte] => Unit)(payload: (Array[Byte], Int) => Unit): Unit = {
    // The state of row 0 is the caller's first one.
    if (segments.carrying < 0)
      segments.all.headOption
        .filter(_.from > 0)
        .foreach(first => throw new JournalDamage(first.name, "its state is missing"))
    // The files of a disk are large, and read fast enough one after the other.
    ParallelReads(segments.sinceCarried, if (store.syncsOpenFiles) 1 else ParallelReads.Width)(openFile) {
      case (segment, file) =>
        try {
          var bytes = Array.emptyByteArray
          (segment.carried.toSeq ++ segment.frames).foreach { frame =>
            bytes = read(file, segment.name, frame, if (frame.rows == 0) Array.emptyByteArray else bytes)
            if (frame.rows == 0) onState(bytes) else payload(bytes, frame.length)
          }
        } catch { case _: NoSuchFileException => throw missing(segment) }
        finally file.close()
    }
    contents = Map.empty
  }

  /** A segment's file: of a small one on an object store, its content. */
  private def openFile(segment: SegmentIndex): (SegmentIndex, FileInput) =
    try
      segment -> contents.get(segment.name).map(FileInput.of(_)).getOrElse {
        val file = store.open(segment.name, segment.bytes)
        if (store.syncsOpenFiles || segment.bytes > ParallelReads.SmallFile) file
        else Using.resource(file)(whole => FileInput.of(FileInput.bytes(whole, 0, segment.bytes)))
      }
    catch { case _: NoSuchFileException => throw missing(segment) }

  private def missing(segment: SegmentIndex) = new JournalDamage(segment.name, "it is not there")

  /** Ends the current segment, and on a store with conditional creation the run: it must not append any more. */
  override def close(): Unit = runSegments.close()

  /** Rewrites the last recovered frame into this run's first segment (A4). If the frame is the only one of its segment,
    * the new segment replaces the old one, with its carried state.
    */
  private def takeOver(): Unit = recovered.segments.lastOption.foreach { last =>
    val (rest, frame) = (last.before(last.frames.last.first), last.frames.last)
    val alone = rest.frames.isEmpty
    val (payload, state) = Using.resource(openFile(last)._2) { file =>
      def bytesOf(frame: Frame) = read(file, last.name, frame, Array.emptyByteArray)
      (bytesOf(frame), last.carried.filter(_ => alone).map(bytesOf))
    }
    try {
      val (segment, copy) = runSegments.append(frame.rows, payload, 0, frame.length)(frame.first, state)
      segments = Segments(recovered.segments.init ++ Option.when(!alone)(rest)) + (segment, copy)
    } finally runSegments.seal()
  }

  /** Reads the payload of a frame, into the given array if it is large enough. */
  private def read(file: FileInput, name: String, frame: Frame, into: Array[Byte]): Array[Byte] = {
    val bytes = if (into.length < frame.length) new Array[Byte](frame.length) else into
    Journal.read(file, Slice(name, frame, 0, frame.rows))(_ => bytes)
    bytes
  }

  /** The state for a new segment, if it is due: always on a disk, where segments are large; else with the first segment after
    * each committed epoch, if what came since is worth it.
    */
  private def stateToCarry(carry: => Array[Byte]): Option[Array[Byte]] = {
    val isWorthIt = sinceCarried / FrameCost + framesSinceCarried >= carriedBytes / FrameCost
    val isDue = store.syncsOpenFiles || sinceCarried >= segmentBytes || hasCommitted && isWorthIt
    if (isDue) hasCommitted = false
    Option.when(isDue)(carry)
  }

  /** Counts a frame towards the next carried state. */
  private def count(segment: SegmentIndex, frame: Frame): Unit = {
    if (segment.carried.nonEmpty && frame.first == segment.from) {
      sinceCarried = 0L
      framesSinceCarried = 0
      carriedBytes = segment.carried.fold(0L)(_.length.toLong)
    }
    sinceCarried += frame.length
    framesSinceCarried += 1
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

  /** The bytes of state that may be carried for each frame: writing and reading a file takes as long as so many bytes. */
  private val FrameCost = 64L << 10

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
    val highest = store.names().flatMap(SegmentIndex.parse(_)).map(_._1).maxOption.getOrElse(0L)
    val generation = Generation.claim(generations, run, highest, conditional = true)(Barriers.raise(store, source, run))
    val journal =
      new AcknowledgedJournal(store, source, run, generation, segmentBytes, Recovery.segments(store, source))
    journal.takeOver()
    journal
  }
}
