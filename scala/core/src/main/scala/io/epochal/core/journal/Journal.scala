package io.epochal.core.journal

import java.io.EOFException
import java.nio.file.NoSuchFileException
import java.util.UUID

import scala.collection.concurrent.TrieMap
import scala.util.Using

/** Keeps rows that a source has received and cannot request again in the query's checkpoint, until they are delivered.
  *
  * The journal is a directory of segments, files that are written once. Only the offsets in Spark's log decide which segments
  * count. Rows are numbered from 0 in the order of receipt.
  *
  *   - '''J1''' A segment's name is unique: it contains the run's random id. A file is never reopened for writing.
  *   - '''J2''' A segment counts if and only if an offset in Spark's log names it. Any other file is garbage.
  *   - '''J3''' An offset names a segment only after the segment was completed, synced and closed.
  *   - '''J4''' The offset determines every byte that is read of a segment: it holds position and checksum of the index, and
  *     the index those of the frames. Any mismatch is damage, never rows.
  *   - '''J5''' The segments of an offset are contiguous and hold all rows from the start of its batch: two offsets and the
  *     segments of the second determine the rows of a batch.
  *   - '''J6''' The offset that names a segment also holds the position from which the origin is read next. One write logs
  *     both: received rows are neither requested twice nor skipped.
  *   - '''J7''' A frame holds rows that were received together, or a part of them. It is journalled whole, and may be delivered
  *     in parts, by batches that end within it.
  *   - '''J8''' A segment is removed only when all its rows lie before the last [[Journal.Kept]] committed epochs, and no later
  *     offset names it. A run does not know the epochs of earlier runs: of the segments before its first committed epoch, the
  *     last [[Journal.Kept]] stay.
  *   - '''J9''' Rows that a run received and did not log are garbage. The next run removes them once it has logged an offset of
  *     its own: from then on Spark lets no earlier run log one.
  *
  * {{{
  *   begin            append            seal               Spark logs the offset        release
  * ────────▶ Open ───────────▶ Open ─────────▶ Sealed ────────────────────────▶ counts ─────────▶ removed
  *             │                 │                │
  *             └── a crash, or giveUp: garbage ◀──┘
  * }}}
  *
  * One thread at a time writes; one thread at a time, possibly another, plans and releases.
  *
  * @param source
  *   the identity of the source, written into every segment: a checkpoint knows sources only by their place in the plan
  * @param run
  *   32 hexadecimal digits, unique to the run
  */
final class Journal(
    store: FileStore,
    source: String,
    run: String = UUID.randomUUID().toString.replace("-", "")
) {
  private var segmentCount = 0
  private val frameCache = TrieMap.empty[String, IndexedSeq[Frame]]
  private var commits = Vector.empty[Journal.Commit]
  private var swept = false

  /** Begins a segment for the rows from `from` on. */
  def begin(from: Long): SegmentWriter = {
    segmentCount += 1
    new SegmentWriter(store, Segment.name(from, run, segmentCount), source, from)
  }

  /** Seals a segment, and remembers its frames. */
  def seal(writer: SegmentWriter): Segment = {
    val (segment, frames) = writer.seal()
    frameCache += segment.name -> frames
    segment
  }

  /** Plans the read of the rows `from` to `until`, with gaps for missing rows. Each segment existed when this returns: a task
    * that does not find one runs on a host that does not share the directory.
    *
    * @param segments
    *   of the offset that ends the batch
    */
  def plan(segments: Seq[Segment], from: Long, until: Long): JournalPlan = {
    val reach = segments.filter(s => from < until && s.until > from && s.from < until).sortBy(_.from)
    val ends = reach.scanLeft(from)((at, segment) => math.max(at, segment.until))
    val holes = (ends zip reach.map(_.from).appended(until)).collect {
      case (at, next) if at < next => Gap(at, math.min(next, until), "no segment of the checkpoint has them")
    }
    val parts = (ends zip reach).map { case (at, segment) => slices(segment, at, until) }
    JournalPlan(parts.flatMap(_.getOrElse(Nil)), (holes ++ parts.flatMap(_.left.toOption)).sortBy(_.from), until)
  }

  /** Commits an epoch, and removes segments that no replay can need any more (J8). Idempotent.
    *
    * @param until
    *   the row after the epoch's last
    * @param segments
    *   of the offset that ended the epoch
    */
  def release(until: Long, segments: Seq[Segment]): Unit =
    if (!commits.lastOption.exists(_.until >= until)) {
      if (commits.isEmpty) sweepEarlier(segments.map(_.from).minOption.getOrElse(until))
      val before = commits
      commits = (commits :+ Journal.Commit(until, segments.map(_.name).toSet)).takeRight(Journal.Kept + 1)
      val names = commits.flatMap(_.names).toSet
      val left = before.flatMap(_.names).exists(!names(_))
      if (commits.size > Journal.Kept && (left || !swept)) sweep(commits.head.until, names)
    }

  /** Removes the segments that other runs began at or after a row (J9).
    *
    * @param behind
    *   the row after the last one that any earlier run has logged
    * @param segments
    *   of an offset that this run has logged
    * @param isLast
    *   whether no later run has begun, whose files would be among those found; evaluated after the files are listed
    */
  def sweepOrphans(behind: Long, segments: Seq[Segment], isLast: => Boolean = true): Unit = {
    val names = segments.map(_.name).toSet
    val orphans =
      store.names().filter(name => Segment.from(name).exists(_ >= behind) && !names(name) && !Segment.isOf(name, run))
    if (orphans.nonEmpty && isLast) orphans.foreach(store.delete)
  }

  private def sweep(floor: Long, names: Set[String]): Unit = {
    val below = begunBefore(floor)
    // The last segment may hold rows on both sides.
    val last = below.map(_._1).maxOption
    val garbage = below.collect { case (from, name) if !names(name) && !last.contains(from) => name }
    garbage.foreach(store.delete)
    frameCache --= garbage
    swept = true
  }

  /** Of the files that begin at the same row, one may be a segment, and the others the remains of killed runs. */
  private def sweepEarlier(floor: Long): Unit = {
    val earlier = begunBefore(floor)
    val newestStarts = earlier.map(_._1).distinct.sorted.takeRight(Journal.Kept).toSet
    earlier.foreach { case (from, name) => if (!newestStarts(from)) store.delete(name) }
  }

  /** The segments that begin before a row, each with its first row. */
  private def begunBefore(row: Long): Seq[(Long, String)] =
    store.names().flatMap(name => Segment.from(name).filter(_ < row).map(_ -> name))

  private def slices(segment: Segment, from: Long, until: Long): Either[Gap, Seq[Slice]] =
    frames(segment)
      .map(_.collect {
        case frame if frame.until > from && frame.first < until =>
          Slice.of(segment.name, frame, from, until)
      })
      .left
      .map(damage => Gap(math.max(from, segment.from), math.min(until, segment.until), damage.getMessage))

  private def frames(segment: Segment): Either[JournalDamage, IndexedSeq[Frame]] =
    frameCache.get(segment.name).filter(_ => store.exists(segment.name)).map(Right(_)).getOrElse {
      try {
        val all = Using.resource(store.open(segment.name))(SegmentFormat.frames(_, segment, source))
        frameCache += segment.name -> all
        Right(all)
      } catch {
        case damage: JournalDamage  => Left(damage)
        case _: NoSuchFileException => Left(new JournalDamage(segment.name, "it is not there"))
        case e: EOFException        => Left(new JournalDamage(segment.name, s"it is cut off (${e.getMessage})"))
      }
    }
}

object Journal {

  /** Epochs before the last committed one that stay readable: a continuous query may commit an end that it never reached. */
  val Kept = 3

  final private case class Commit(until: Long, names: Set[String])

  /** Reads and checks the payload of a frame.
    *
    * @param into
    *   returns an array with room for the given number of bytes
    * @throws JournalDamage
    *   if the file is not the one that was written
    * @throws java.io.IOException
    *   if it cannot be read now
    */
  def read(file: FileInput, slice: Slice)(into: Int => Array[Byte]): Unit = {
    val frame = slice.frame
    val bytes = into(frame.length)
    try file.read(frame.position, bytes, 0, frame.length)
    catch { case e: EOFException => throw new JournalDamage(slice.segment, s"it is cut off (${e.getMessage})") }
    if (SegmentFormat.frameCrc(frame.rows, bytes, 0, frame.length) != frame.crc)
      throw new JournalDamage(
        slice.segment,
        s"the bytes of rows ${frame.first} to ${frame.until} are not those written")
  }
}
