package io.epochal.core.journal

import java.io.EOFException
import java.nio.file.NoSuchFileException
import java.util.UUID

import scala.collection.concurrent.TrieMap
import scala.util.Using

/** What a source has received and cannot ask for again, kept in the query's checkpoint until it is delivered.
  *
  * The journal is a directory of segments, files that are written once. The offsets in Spark's own log alone decide which of
  * them count. Rows are numbered from 0 in the order in which they were received.
  *
  *   - '''J1''' A segment's name is given once: it holds the run's random id. A file is never opened again for writing.
  *   - '''J2''' A segment counts if and only if an offset in Spark's log names it. Any other file is garbage.
  *   - '''J3''' An offset names a segment only after the segment was written to its end, synced and closed.
  *   - '''J4''' What an offset says of a segment decides every byte that is read of it: position and checksum of the index, and the
  *     index those of the frames. What does not fit is damage, never rows.
  *   - '''J5''' The segments of an offset follow each other without a gap or an overlap, and hold all rows from the start of its
  *     batch on: two offsets and the segments of the second give the rows of a batch, always the same.
  *   - '''J6''' The offset that names a segment also says where the origin is to be asked next. Both are logged in one write: what
  *     was received is neither asked for again nor passed over.
  *   - '''J7''' A frame is what was received at once, or a part of it. It is journalled whole, and may be delivered in parts, by
  *     batches that end within it.
  *   - '''J8''' A segment is removed only when all its rows lie before the last [[Journal.Kept]] committed epochs, and no offset
  *     from there on names it. A run does not know the epochs of earlier ones: of what lies before its first committed epoch, the
  *     last [[Journal.Kept]] segments stay.
  *   - '''J9''' What a run received and did not log is garbage that the next run removes, once an offset of its own is logged: from
  *     then on Spark lets no run before it log one.
  *
  * {{{
  *   begin            append            seal               Spark logs the offset        release
  * ────────▶ Open ───────────▶ Open ─────────▶ Sealed ────────────────────────▶ counts ─────────▶ removed
  *             │                 │                │
  *             └── a crash, or giveUp: garbage ◀──┘
  * }}}
  *
  * One thread at a time writes; one at a time plans and releases, which may be another.
  *
  * @param source
  *   the identity of the source, which stands in every segment: a checkpoint knows sources by their place in the plan only
  * @param run
  *   32 hexadecimal digits that no other run has
  */
final class Journal(
    store: FileStore,
    source: String,
    run: String = UUID.randomUUID().toString.replace("-", "")
) {
  private var written = 0
  private val known = TrieMap.empty[String, IndexedSeq[Frame]]
  private var committed = Vector.empty[Journal.Commit]
  private var swept = false

  /** A new segment for the rows from `from` on. */
  def begin(from: Long): SegmentWriter = {
    written += 1
    new SegmentWriter(store, Segment.name(from, run, written), source, from)
  }

  /** Ends a segment, and remembers its frames. */
  def seal(writer: SegmentWriter): Segment = {
    val (segment, frames) = writer.seal()
    known += segment.name -> frames
    segment
  }

  /** What is to be read for the rows `from` to `until`, and which of them are gone. Each segment was seen when this returns: who
    * does not find it afterwards looks elsewhere.
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
    JournalPlan(parts.flatMap(_.getOrElse(Nil)), (holes ++ parts.flatMap(_.left.toOption)).sortBy(_.from))
  }

  /** Marks an epoch as done, and removes what no replay can need any more (J8). Idempotent.
    *
    * @param until
    *   the row after the epoch's last
    * @param segments
    *   of the offset that ended the epoch
    */
  def release(until: Long, segments: Seq[Segment]): Unit =
    if (!committed.lastOption.exists(_.until >= until)) {
      if (committed.isEmpty) sweepEarlier(segments.map(_.from).minOption.getOrElse(until))
      val before = committed
      committed = (committed :+ Journal.Commit(until, segments.map(_.name).toSet)).takeRight(Journal.Kept + 1)
      val named = committed.flatMap(_.named).toSet
      val left = before.flatMap(_.named).exists(!named(_))
      if (committed.size > Journal.Kept && (left || !swept)) sweep(committed.head.until, named)
    }

  /** Removes the segments that other runs began at a row or behind it (J9).
    *
    * @param behind
    *   the row after the last one that any run before this one has logged
    * @param segments
    *   of an offset of this run that is logged
    * @param isLast
    *   asked when the files are known: whether no later run has begun, whose files would be among them
    */
  def sweepOrphans(behind: Long, segments: Seq[Segment], isLast: => Boolean = true): Unit = {
    val named = segments.map(_.name).toSet
    val orphans =
      store.names().filter(name => Segment.from(name).exists(_ >= behind) && !named(name) && !Segment.isOf(name, run))
    if (orphans.nonEmpty && isLast) orphans.foreach(store.delete)
  }

  private def sweep(floor: Long, named: Set[String]): Unit = {
    val below = store.names().flatMap(name => Segment.from(name).filter(_ < floor).map(_ -> name))
    // The last of them may have rows on both sides.
    val last = below.map(_._1).maxOption
    val garbage = below.collect { case (from, name) if !named(name) && !last.contains(from) => name }
    garbage.foreach(store.delete)
    known --= garbage
    swept = true
  }

  /** Of files that begin at the same row one may be a segment, and the others what runs left that were killed. */
  private def sweepEarlier(floor: Long): Unit = {
    val earlier = store.names().flatMap(name => Segment.from(name).filter(_ < floor).map(_ -> name))
    val kept = earlier.map(_._1).distinct.sorted.takeRight(Journal.Kept).toSet
    earlier.foreach { case (from, name) => if (!kept(from)) store.delete(name) }
  }

  private def slices(segment: Segment, from: Long, until: Long): Either[Gap, Seq[Slice]] =
    frames(segment) match {
      case Right(all) =>
        Right(all.collect {
          case frame if frame.until > from && frame.first < until =>
            val first = math.max(from, frame.first)
            Slice(segment.name, frame, (first - frame.first).toInt, (math.min(until, frame.until) - first).toInt)
        })
      case Left(damage) =>
        Left(Gap(math.max(from, segment.from), math.min(until, segment.until), damage.getMessage))
    }

  private def frames(segment: Segment): Either[JournalDamage, IndexedSeq[Frame]] =
    known.get(segment.name).filter(_ => store.exists(segment.name)).map(Right(_)).getOrElse {
      try {
        val all = Using.resource(store.open(segment.name))(SegmentFormat.frames(_, segment, source))
        known += segment.name -> all
        Right(all)
      } catch {
        case damage: JournalDamage  => Left(damage)
        case _: NoSuchFileException => Left(new JournalDamage(segment.name, "it is not there"))
        case e: EOFException        => Left(new JournalDamage(segment.name, s"it is cut off (${e.getMessage})"))
      }
    }
}

object Journal {

  /** Epochs before the last committed one that stay readable (S5). */
  val Kept = 3

  final private case class Commit(until: Long, named: Set[String])

  /** Reads the payload of a frame, and checks it.
    *
    * @param into
    *   gives an array with room for so many bytes
    * @throws JournalDamage
    *   where the file is not the one that was written
    * @throws java.io.IOException
    *   where it cannot be read now
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

/** What is to be read for the rows of a batch, in order, and which of them are gone. */
final case class JournalPlan(slices: Seq[Slice], gaps: Seq[Gap]) {

  /** At most `parts` groups of slices that follow each other, of about as many rows each. How many groups there are tells which:
    * asked for as many, or for more, it gives the same.
    */
  @scala.annotation.tailrec
  def split(parts: Int): Seq[Seq[Slice]] = {
    val groups = cut(parts)
    if (groups.size < parts && groups.nonEmpty) split(groups.size) else groups
  }

  private def cut(parts: Int): Seq[Seq[Slice]] = {
    val total = slices.map(_.take.toLong).sum
    val before = slices.scanLeft(0L)(_ + _.take)
    slices
      .zip(before)
      .groupBy { case (slice, at) => (BigInt(at * 2 + slice.take) * parts / (total * 2)).toLong }
      .toSeq
      .sortBy(_._1)
      .map(_._2.map(_._1))
  }
}

/** Rows of a frame: `take` of them, after the first `skip`. */
final case class Slice(segment: String, frame: Frame, skip: Int, take: Int) {

  /** The number of its first row. */
  def first: Long = frame.first + skip
}

/** Rows that the journal should have and has not. */
final case class Gap(from: Long, until: Long, reason: String)
