package io.epochal.kit.source.journal

import java.io.IOException

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.spark.sql.connector.read.InputPartition
import org.slf4j.LoggerFactory

import io.epochal.core.error.Conditions
import io.epochal.core.journal.{FileStore, Journal, JournalDamage, Segment, SegmentWriter, Slice}

/** How a connector's position refers to the journal (J6): the rows before it, the segments that count, and where the origin is
  * read next. Pure.
  *
  * @tparam C
  *   where the origin is read next
  */
trait JournalPositions[P, C] {

  /** The number of rows before it. */
  def rows(position: P): Long

  /** The segments that it names; None if its rows were never journalled. */
  def segments(position: P): Option[Seq[Segment]]

  /** The segments that later offsets must also name. */
  def needed(position: P): Seq[Segment] = segments(position).getOrElse(Nil).filter(_.until > rows(position))

  def cursor(position: P): C

  /** The position `rows` rows after `start`. */
  def after(start: P, rows: Long, segments: Seq[Segment], cursor: C): P

  /** The position at a row, without the journal's segments: for a report. */
  def at(like: P, row: Long): P
}

/** The rows of one task, in the journal. */
final case class JournalPartition(slices: Seq[Slice]) extends InputPartition

/** The stream's [[io.epochal.core.journal.Journal]], with its failures as errors of the query; the same threading rules.
  *
  * @param store
  *   its directory, in the source's part of the checkpoint
  * @param source
  *   the identity that offsets carry
  * @param lost
  *   the warning about missing rows, from one row until another, with the reason; throws DATA_LOSS if it fails the query
  * @param parts
  *   maximum number of partitions of a batch
  */
final class SourceJournal[P, C](
    val store: FileStore,
    val source: String,
    val positions: JournalPositions[P, C],
    lost: (Long, Long, String) => String,
    parts: => Int
) {
  private val log = LoggerFactory.getLogger(classOf[SourceJournal[_, _]])
  private val journal = new Journal(store, source)

  /** Begins a segment.
    *
    * @throws io.epochal.core.error.EpochalException
    *   JOURNAL_UNWRITABLE, as every method that writes
    */
  def begin(from: Long): SegmentWriter = writing(journal.begin(from))

  def append(writer: SegmentWriter, rows: Int, bytes: Array[Byte], from: Int, length: Int): Unit =
    writing(writer.append(rows, bytes, from, length))

  def seal(writer: SegmentWriter): Segment = writing(journal.seal(writer))

  /** Plans a batch.
    *
    * @throws io.epochal.core.error.EpochalException
    *   DATA_LOSS, if the journal lacks rows; with failOnDataLoss=false the remaining rows are read
    */
  def partitions(start: P, end: P): Array[InputPartition] = {
    val plan = journal.plan(positions.segments(end).getOrElse(Nil), positions.rows(start), positions.rows(end))
    plan.gaps.foreach(gap => warn(gap.from, gap.until, gap.reason))
    if (plan.slices.isEmpty) Array.empty else plan.split(parts).map(JournalPartition(_)).toArray
  }

  /** Reads rows that were delivered before, frame after frame, on the driver.
    *
    * @param purpose
    *   what they are needed for, for the warning or error if the journal lacks some
    * @param into
    *   returns an array with room for the bytes of a frame
    * @param each
    *   called with the slice after its frame was read
    */
  def read(segments: Seq[Segment], from: Long, until: Long, purpose: String)(into: Int => Array[Byte])(
      each: Slice => Unit): Unit = {
    val plan = journal.plan(segments, from, until)
    plan.gaps.foreach(gap => warn(gap.from, gap.until, s"${gap.reason}; $purpose"))
    plan.slices.groupBy(_.segment).toSeq.sortBy(_._1).foreach { case (segment, slices) =>
      Using.resource(store.open(segment)) { file =>
        slices.foreach { slice =>
          try {
            Journal.read(file, slice)(into)
            each(slice)
          } catch {
            case damage: JournalDamage => warn(slice.first, slice.first + slice.take, s"${damage.getMessage}; $purpose")
          }
        }
      }
    }
  }

  /** Merges consecutive segments into one, with the same frames; None if some are lost. */
  def joined(segments: Seq[Segment]): Option[Segment] = {
    val writer = begin(segments.head.from)
    try {
      var bytes = Array.emptyByteArray
      def into(size: Int): Array[Byte] = {
        if (bytes.length < size) bytes = new Array[Byte](size)
        bytes
      }
      read(segments, segments.head.from, segments.last.until, "they were received just now")(into)(slice =>
        append(writer, slice.frame.rows, bytes, 0, slice.frame.length))
      val isWhole = writer.until == segments.last.until
      if (!isWhole) writer.giveUp()
      Option.when(isWhole)(seal(writer))
    } catch {
      case e: Throwable =>
        writer.giveUp()
        throw e
    }
  }

  def release(end: P): Unit =
    try positions.segments(end).foreach(journal.release(positions.rows(end), _))
    catch {
      // A later commit, or another run, removes files that could not be removed now.
      case NonFatal(e) =>
        log.warn(s"Old segments of the journal in $store could not be removed; a later commit removes them: $e")
    }

  /** Removes segments that earlier runs received after a row and never logged. An offset of this run is in Spark's log already.
    *
    * @param isLast
    *   whether no later run has begun
    */
  def sweep(behind: Long, logged: P, isLast: => Boolean): Unit =
    try journal.sweepOrphans(behind, positions.segments(logged).getOrElse(Nil), isLast)
    catch {
      case NonFatal(e) =>
        log.warn(s"Segments of earlier runs in $store could not be removed; a later run removes them: $e")
    }

  private def warn(from: Long, until: Long, reason: String): Unit = log.warn(lost(from, until, reason))

  /** Runs a write to the journal's directory. */
  private[journal] def writing[A](body: => A): A =
    try body
    catch {
      case e: IOException =>
        val reason = Option(e.getMessage).getOrElse(e.getClass.getSimpleName)
        throw Conditions.JournalUnwritable.because(e)("source" -> source, "path" -> store, "reason" -> reason)
    }
}

/** Rows received after a position: the segments that its offset names already, and later ones that no offset names yet.
  *
  * @param start
  *   the position
  * @param known
  *   rows that a feed has received after it, if there was one
  * @param segmentBytes
  *   a segment that exceeds this size is ended
  */
final class JournalTail[P, C](
    journal: SourceJournal[P, C],
    val start: P,
    known: Option[Ahead[C]] = None,
    segmentBytes: Long = JournalTail.SegmentBytes
) {
  import journal.positions

  private val startRow = positions.rows(start)
  private var segments = known.fold(positions.needed(start))(_.segments)
  private var open = Option.empty[SegmentWriter]
  private var at = known.fold(positions.cursor(start))(_.cursor)
  private var taken = Option.empty[P]

  /** The row after the last received one. */
  def until: Long = open.fold(segments.lastOption.fold(startRow)(_.until))(_.until)

  /** Rows received after `start`. */
  def available: Long = until - startRow

  /** The sealed segments, including those of `start`. */
  def received: Seq[Segment] = segments

  /** Whether it begins with rows from a feed. */
  def wasFed: Boolean = known.nonEmpty

  /** Where the origin is read next. */
  def cursor: C = at

  /** Sets where the origin is read next, after the rows that were added. No position may be taken between the two calls. */
  def goOn(next: C): Unit = at = next

  /** Adds received rows. After a failure the tail is unusable.
    *
    * @param bytes
    *   holds them, from `from` on
    */
  def add(rows: Int, bytes: Array[Byte], from: Int, length: Int): Unit = {
    val writer = open.getOrElse(journal.begin(until))
    open = Some(writer)
    journal.append(writer, rows, bytes, from, length)
    if (writer.bytes >= segmentBytes) seal()
  }

  /** The position after this many rows. Seals received rows first: an offset may name the segment (J3). */
  def take(rows: Long): P = {
    if (open.nonEmpty) seal()
    val end = positions.after(start, rows, segments, at)
    taken = Some(end)
    end
  }

  /** The tail after the position where the next batch starts; None if this tail has not produced that position. */
  def after(position: P): Option[JournalTail[P, C]] =
    if (position == start) Some(this)
    else if (taken.contains(position)) Some(new JournalTail(journal, position, segmentBytes = segmentBytes))
    else None

  /** Removes segments that no offset names. Segments that an offset could name stay: Spark may have logged it. */
  def discard(): Unit = {
    open.foreach(_.giveUp())
    open = None
  }

  private def seal(): Unit = {
    segments = segments ++ open.map(journal.seal)
    open = None
  }
}

private object JournalTail {

  /** Small enough that delivered parts of a long backlog can be removed before all of it is delivered. */
  val SegmentBytes: Long = 128L << 20
}
