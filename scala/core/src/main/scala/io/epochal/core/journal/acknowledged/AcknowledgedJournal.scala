package io.epochal.core.journal.acknowledged

import java.nio.file.NoSuchFileException
import java.util.UUID

import scala.util.{Try, Using}

import io.epochal.core.journal._

/** The journal of a source that acknowledges rows to its clients once they are durable. What was acknowledged counts, also where the run died
  * before Spark logged any offset; in the [[io.epochal.core.journal.Journal]], by contrast, only what an offset names counts.
  *
  * A directory of segments, each a file to which frames are added. Rows are numbered from 0 over all segments. A frame is what one
  * sync makes durable: all that waited when the writer was ready for more (group commit). Bytes: see [[FrameFormat]].
  *
  *   - '''A1''' A segment's name is given once. Its file is written by one run, in one piece from its creation on, and never again after
  *     a write or a sync of it has failed.
  *   - '''A2''' A frame is written only when the frame before it was synced. So a whole frame behind one that is not whole proves damage;
  *     without one, the frame that is not whole is the torn tail of a run that died, and was never acknowledged.
  *   - '''A3''' A row is acknowledged, and delivered, only after its frame was synced and the run has then seen its own generation to be
  *     the highest, and the segment's file to be there.
  *   - '''A4''' A new run reads all segments forward and takes over every whole frame: all that was acknowledged, and perhaps a last frame
  *     that was written and not acknowledged, or not even synced. So it writes the last frame again, into a segment of its own, before
  *     it delivers a row, knows a key or acknowledges anything.
  *   - '''A5''' Segments are in the order of generation and number. A segment ends where a later one with rows begins: what stands behind
  *     that in its file was never acknowledged, or is in the later one too.
  *   - '''A6''' Rows follow each other without a gap. One that is missing was damaged or removed: it is reported, and never taken for the
  *     end, but where it is the last one of all.
  *   - '''A7''' A run claims a generation first, and reads the segments then.
  *   - '''A8''' A segment is removed only when all its rows lie before the last [[Journal.Kept]] committed epochs and a later segment holds the
  *     carried state. A run does not know the epochs of earlier ones: of the segments before its first committed epoch the last
  *     [[Journal.Kept]] stay.
  *   - '''A9''' What must be known of rows longer than they are kept is carried over: the newest carried state and the frames from there on
  *     give all of it.
  *   - '''A10''' A run removes a file of its own, but for A8, only where no other run can have taken rows of it over: no whole frame was
  *     ever written, or later rows from the same number on are acknowledged. One that is fenced removes nothing.
  *
  * Why a predecessor that was frozen, and wakes up, loses nothing that it acknowledges (A3, A7): it syncs a frame at time s and looks
  * at the generations at time g, s < g. The new run claims at time c, and reads the segments at time r, c < r. Either c < g: the
  * predecessor sees the claim, and acknowledges nothing, now and ever. Or g < c: then s < g < c < r, and the new run reads the
  * frame. What the predecessor begins after r begins behind all that it has acknowledged, thus no earlier than the last frame that
  * the new run has read, and has in a segment of a higher generation (A4): it does not count (A5). This needs a store in which a
  * file that was made is seen by every later listing, and what was synced by every later read:
  * local file systems, HDFS, S3.
  *
  * On a store that cannot sync open files every frame has a segment of its own, which closing makes durable.
  *
  * Not guaranteed: that a row whose frame failed to sync is gone. It is not acknowledged, and this run does not deliver it; if the
  * run then dies, or is fenced, before it acknowledges another row, the next run may find it whole, deliver it and know its key.
  *
  * {{{
  *   begin            append              sync          see the generation
  * ────────▶ Open ───────────▶ written ─────────▶ synced ──────────────────▶ acknowledged ── release ─▶ removed
  *             │                  │                 │
  *             └── a failure ─────┴─────────────────┴──▶ abandoned; the next segment begins before these rows (A5, A10)
  * }}}
  *
  * One thread at a time appends; one at a time plans and releases, which may be another. Any thread may read its state.
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

  /** Whether a failure may have left a whole frame that is not acknowledged, and the files that have nothing else. */
  private var unsure = false
  private var doubtful = Vector.empty[String]

  @volatile private var fenced = false
  @volatile private var skipped = 0L
  @volatile private var segments = recovered
  private var committed = Vector.empty[Long]
  private var garbage = Vector.empty[String]

  /** The row after the last acknowledged one. */
  def until: Long = math.max(skipped, segments.lastOption.fold(0L)(_.until))

  /** The row at which what this run received begins. */
  val recoveredUntil: Long = until

  /** Whether another run has taken over. */
  def isFenced: Boolean = fenced

  /** Of all segments. */
  def bytes: Long = segments.map(_.bytes).sum

  /** Bytes of the frames with rows from `row` on. */
  def bytesFrom(row: Long): Long = segments.map(_.bytesFrom(row)).sum

  /** Adds rows and makes them durable (A2, A3): they may be acknowledged when this returns. After a failure the next call goes on in a
    * new segment.
    *
    * @param carry
    *   the state of all that was acknowledged so far; asked for where a segment begins with it (A9)
    * @return
    *   the number of the first row
    * @throws java.io.IOException
    *   where the store fails, or the file was deleted meanwhile; nothing may be acknowledged
    * @throws JournalFenced
    *   where another run has taken over; so does every later call
    */
  def append(rows: Int, bytes: Array[Byte], offset: Int, length: Int)(carry: => Array[Byte]): Long = {
    require(rows > 0 && length > 0, "a frame without rows")
    if (fenced) throw new JournalFenced(generation.number)
    try {
      val segment = open.getOrElse(begin(carry))
      val frame = segment.append(rows, bytes, offset, length)
      fence()
      // A file that is deleted still takes frames that no reader can find.
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

  /** Says up to where rows were committed when this run began. Of the epochs before nothing more is known (A8). */
  def startFrom(row: Long): Unit = if (committed.isEmpty) committed = Vector(row)

  /** Numbers what is appended from now on from `row` on, where rows before it are gone. */
  def skipTo(row: Long): Unit = if (row > until) {
    seal()
    doubtful = Vector.empty // What is appended next does not begin before them.
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

  /** What is to be read for the rows `from` to `until`, and which of them are gone. Each segment was seen when this returns. */
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

  /** How many rows from `from` on are in frames of so many bytes together; of a larger frame, a part of its rows. */
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

  /** Marks an epoch as done, and removes what no replay can need any more (A8). Idempotent.
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
    // What cannot be removed now is tried again after the next epoch.
    val failures = garbage.flatMap(name => Try(store.delete(name)).failed.toOption.map(name -> _))
    garbage = failures.map(_._1)
    failures.headOption.foreach(failure => throw failure._2)
  }

  /** Removes the files of earlier runs that hold no row. */
  def sweep(): Unit = {
    val known = segments.map(_.name).toSet
    store
      .names()
      .filter(name => SegmentIndex.parse(name).exists(_._1 < generation.number) && !known(name))
      .foreach(name => Try(store.delete(name)))
  }

  /** Gives what is known of the rows that were kept or carried: the newest carried state, then the payloads of the frames behind it.
    * To be called before the first `append`.
    *
    * @throws JournalDamage
    *   where it cannot be read as it was written
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

  /** Ends the segment that is written. More can be appended. */
  override def close(): Unit = seal()

  /** Writes the last frame again that an earlier run has written, with the state that its segment begins with if it is the first
    * one there (A4).
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

  /** The payload of a frame; into the given array, where it has room. */
  private def read(file: FileInput, name: String, frame: Frame, into: Array[Byte]): Array[Byte] = {
    val bytes = if (into.length < frame.length) new Array[Byte](frame.length) else into
    Journal.read(file, Slice(name, frame, 0, frame.rows))(_ => bytes)
    bytes
  }

  private def begin(carry: => Array[Byte]): OpenSegment = {
    // Another run may have taken over what failed: to begin before it would be wrong then.
    if (unsure) fence()
    val segment = newSegment(until, Option.when(sinceCarried >= segmentBytes || store.syncsOpenFiles)(carry))
    open = Some(segment)
    segment
  }

  private def newSegment(from: Long, state: Option[Array[Byte]]): OpenSegment = {
    number += 1
    new OpenSegment(store, SegmentIndex.name(generation.number, number, run), mark, source, from, state)
  }

  /** Of the newest segment, when it has its first frame. */
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

  /** Later rows are acknowledged: a run that takes over from now on sees those first (A5, A7). */
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

  /** In milliseconds: a waiting thread sees an interruption at once, and a spurious end of the journal's thread within a second. */
  private val LongestWait = 1000L

  /** What is delivered of a long backlog can be removed before all of it is. */
  val SegmentBytes: Long = 64L << 20

  /** Takes the journal over from the run that had it: claims a generation, reads what was acknowledged, and makes it its own (A4, A7).
    *
    * @param generations
    *   another directory, for the generations alone
    * @param source
    *   the identity of the source, which stands in every segment
    * @throws JournalDamage
    *   where a segment is of another source or a later version
    * @throws java.io.IOException
    *   where the store fails
    * @throws JournalFenced
    *   where yet another run has taken over meanwhile
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

/** Another run has taken the journal over: this one acknowledges nothing any more. */
final class JournalFenced(val generation: Long)
    extends Exception(s"A run with a higher generation than $generation has taken over")
