package io.epochal.core.journal.acknowledged

import java.nio.file.NoSuchFileException
import java.util.UUID

import scala.util.{Try, Using}

import io.epochal.core.journal._

/** The journal of a source that acknowledges rows to its clients once they are durable. Acknowledged rows count even if the run
  * died before Spark logged any offset; in the [[io.epochal.core.journal.Journal]], by contrast, only rows that an offset names
  * count.
  *
  * The journal is a directory of segments, files to which frames are appended. Rows are numbered from 0 over all segments. A
  * frame holds the rows that one sync makes durable: all that were waiting when the writer was ready for more (group commit).
  * Bytes: see [[FrameFormat]].
  *
  *   - '''A1''' A segment's name is unique. One run writes its file, from its creation on without reopening it, and never again
  *     after a write or a sync has failed.
  *   - '''A2''' A frame is written only after the frame before it was synced. So an intact frame after a broken one proves
  *     damage; without one, the broken frame is the torn tail of a run that died, and was never acknowledged.
  *   - '''A3''' A row is acknowledged, and delivered, only after its frame was synced and the run has then seen that its own
  *     generation is the highest and that the segment's file exists.
  *   - '''A4''' A new run reads all segments forward and takes over every intact frame: all acknowledged ones, and perhaps a
  *     last frame that was written and not acknowledged, or not even synced. So it rewrites the last frame into a segment of
  *     its own, before it delivers a row, knows a key or acknowledges anything.
  *   - '''A5''' Segments are ordered by generation and number. A segment ends where a later one with rows begins: later rows in
  *     its file were never acknowledged, or are in the later segment too.
  *   - '''A6''' Rows are numbered without gaps. A missing row was damaged or removed: it is reported, and never taken for the
  *     end, unless it is the very last one.
  *   - '''A7''' A run first claims a generation, and then reads the segments.
  *   - '''A8''' A segment is removed only when all its rows lie before the last [[Journal.Kept]] committed epochs and a later
  *     segment holds the carried state. A run does not know the epochs of earlier runs: of the segments before its first
  *     committed epoch, the last [[Journal.Kept]] stay.
  *   - '''A9''' State that must outlive the rows is carried over: the newest carried state and the frames from there on yield
  *     all of it.
  *   - '''A10''' Except for A8, a run removes a file of its own only if no other run can have taken over rows of it: no intact
  *     frame was ever written, or later rows from the same number on are acknowledged. A fenced run removes nothing.
  *
  * A predecessor that was frozen, and wakes up, loses no row that it acknowledges (A3, A7): it syncs a frame at time s and
  * looks at the generations at time g, s < g. The new run claims at time c, and reads the segments at time r, c < r. Either c <
  * g: the predecessor sees the claim, and acknowledges nothing from then on. Or g < c: then s < g < c < r, and the new run
  * reads the frame. Segments that the predecessor begins after r begin after all rows that it has acknowledged, thus no earlier
  * than the last frame that the new run has read, and has rewritten into a segment of a higher generation (A4): they do not
  * count (A5). This requires a store in which every later listing sees a created file, and every later read the synced bytes:
  * local file systems, HDFS, S3.
  *
  * On a store that cannot sync open files every frame has a segment of its own, which closing makes durable.
  *
  * Not guaranteed: that a row whose frame failed to sync is gone. It is not acknowledged, and this run does not deliver it; if
  * the run then dies, or is fenced, before it acknowledges another row, the next run may find the row intact, deliver it and
  * know its key.
  *
  * {{{
  *   begin            append              sync          see the generation
  * ────────▶ Open ───────────▶ written ─────────▶ synced ──────────────────▶ acknowledged ── release ─▶ removed
  *             │                  │                 │
  *             └── a failure ─────┴─────────────────┴──▶ abandoned; the next segment begins before these rows (A5, A10)
  * }}}
  *
  * One thread at a time appends; one thread at a time, possibly another, plans and releases. Any thread may read its state.
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
  private var number = 0L
  private var sinceCarried = Long.MaxValue

  /** Whether a failure may have left an intact, unacknowledged frame, and the files that hold nothing else. */
  private var unsure = false
  private var doubtful = Vector.empty[String]

  @volatile private var fenced = false
  @volatile private var skipped = 0L
  @volatile private var segments = recovered
  private var committed = Vector.empty[Long]
  private var garbage = Vector.empty[String]

  /** The row after the last acknowledged one. */
  def until: Long = math.max(skipped, segments.lastOption.fold(0L)(_.until))

  /** The row after the last recovered one, where the rows of this run begin. */
  val recoveredUntil: Long = until

  /** Whether another run has taken over. */
  def isFenced: Boolean = fenced

  /** The size of all segments. */
  def bytes: Long = segments.map(_.bytes).sum

  /** Bytes of the frames with rows from `row` on. */
  def bytesFrom(row: Long): Long = segments.map(_.bytesFrom(row)).sum

  /** Appends rows and makes them durable (A2, A3): they may be acknowledged when this returns. After a failure the next call
    * begins a new segment.
    *
    * @param carry
    *   the state of everything acknowledged so far; evaluated if a segment begins with it (A9)
    * @return
    *   the number of the first row
    * @throws java.io.IOException
    *   if the store fails, or the file was deleted meanwhile; nothing may be acknowledged
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

  /** Sets the row up to which rows were committed when this run began. Earlier epochs are unknown (A8). */
  def startFrom(row: Long): Unit = if (committed.isEmpty) committed = Vector(row)

  /** Numbers later rows from `row` on, if the rows before it are missing. */
  def skipTo(row: Long): Unit = if (row > until) {
    seal()
    doubtful = Vector.empty // Later rows do not begin before the doubtful ones.
    skipped = row
  }

  /** Waits until there is a row at `row`.
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

  /** Plans the read of the rows `from` to `until`, with gaps for missing rows. Each segment existed when this returns. */
  def plan(from: Long, until: Long): JournalPlan = {
    val reach = segments.filter(segment => segment.until > from && segment.from < until)
    val (there, gone) = reach.partition(segment => store.exists(segment.name))
    val slices = there.flatMap { segment =>
      segment.frames.iterator.drop(segment.framesBelow(from)).takeWhile(_.first < until).map { frame =>
        val first = math.max(from, frame.first)
        Slice(segment.name, frame, (first - frame.first).toInt, (math.min(until, frame.until) - first).toInt)
      }
    }
    val ends = slices.scanLeft(from)((_, slice) => slice.first + slice.take)
    val gaps = (ends zip slices.map(_.first).appended(until)).collect {
      case (at, next) if at < next =>
        val missing = gone.find(segment => segment.until > at && segment.from < next)
        Gap(at, next, missing.fold("they are damaged, or were removed")(one => s"the segment ${one.name} is not there"))
    }
    JournalPlan(slices, gaps)
  }

  /** The number of rows from `from` on in frames of at most this many bytes together; of a larger frame, a part of its rows. */
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
    *   the row after the epoch's last
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
    // A segment that cannot be removed now is retried after the next epoch.
    val failures = garbage.flatMap(name => Try(store.delete(name)).failed.toOption.map(name -> _))
    garbage = failures.map(_._1)
    failures.headOption.foreach(failure => throw failure._2)
  }

  /** Removes the files of earlier runs that hold no rows. */
  def sweep(): Unit = {
    val known = segments.map(_.name).toSet
    store
      .names()
      .filter(name => SegmentIndex.parse(name).exists(_._1 < generation.number) && !known(name))
      .foreach(name => Try(store.delete(name)))
  }

  /** Passes on what is known of the rows that were kept or carried: the newest carried state, then the payloads of the frames
    * after it. Must be called before the first `append`.
    *
    * @throws JournalDamage
    *   if a frame cannot be read as it was written
    */
  def restore(carried: Array[Byte] => Unit)(payload: (Array[Byte], Int) => Unit): Unit = {
    val from = math.max(0, segments.lastIndexWhere(_.carried.nonEmpty))
    segments.drop(from).foreach { segment =>
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

  /** Rewrites the last frame of an earlier run into this run's first segment, with the carried state if the frame is the first
    * of its segment (A4).
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
    // Another run may have taken the failed rows over: beginning before them would then be wrong.
    if (unsure) fence()
    val segment = newSegment(until, Option.when(sinceCarried >= segmentBytes || store.syncsOpenFiles)(carry))
    open = Some(segment)
    segment
  }

  private def newSegment(from: Long, state: Option[Array[Byte]]): OpenSegment = {
    number += 1
    new OpenSegment(store, SegmentIndex.name(generation.number, number, run), mark, source, from, state)
  }

  /** The index of the newest segment, once it has its first frame. */
  private def indexOf(segment: OpenSegment, frame: Frame): SegmentIndex =
    SegmentIndex(segment.name, generation.number, number, frame.first, segment.carried, Vector.empty, 0L) + frame

  private def seal(): Unit = {
    open.foreach(_.close())
    open = None
  }

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

  /** Later rows are acknowledged: a run that takes over from now on reads those first (A5, A7). */
  private def settle(): Unit = {
    doubtful.foreach(name => Try(store.delete(name)))
    doubtful = Vector.empty
    unsure = false
  }

  private def fence(): Unit = if (!generation.isOwn) {
    fenced = true
    throw new JournalFenced(generation.number)
  }
}

object AcknowledgedJournal {

  /** In milliseconds: a waiting thread notices an interruption at once, and the unexpected end of the journal's thread within a
    * second.
    */
  private val LongestWait = 1000L

  /** Small enough that delivered parts of a long backlog can be removed before all of it is delivered. */
  val SegmentBytes: Long = 64L << 20

  /** Takes the journal over from the previous run: claims a generation, recovers the acknowledged rows, and rewrites the last
    * frame (A4, A7).
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

/** Another run has taken the journal over: this run acknowledges nothing any more. */
final class JournalFenced(val generation: Long)
    extends Exception(s"A run with a higher generation than $generation has taken over")
