package io.epochal.kit.source.journal

import java.io.IOException

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.spark.sql.connector.read.InputPartition
import org.slf4j.LoggerFactory

import io.epochal.core.error.Conditions
import io.epochal.core.journal.{FileStore, Journal, Segment, SegmentWriter, Slice}

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
    plan.gaps.foreach(gap => log.warn(lost(gap.from, gap.until, gap.reason)))
    plan.split(parts).map(JournalPartition(_)).toArray
  }

  /** Reads rows that were delivered before, frame after frame, on the driver.
    *
    * @param purpose
    *   what they are needed for, for the warning or error if the journal lacks some
    * @param each
    *   gets a slice, and the bytes of its frame in an array that is reused
    */
  def read(
      segments: Seq[Segment],
      from: Long,
      until: Long,
      purpose: String)(each: (Slice, Array[Byte]) => Unit): Unit = {
    def loss(from: Long, until: Long, reason: String) = lost(from, until, s"$reason; $purpose")
    val plan = journal.plan(segments, from, until)
    plan.gaps.foreach(gap => log.warn(loss(gap.from, gap.until, gap.reason)))
    var bytes = Array.emptyByteArray
    def reserve(size: Int): Array[Byte] = {
      if (bytes.length < size) bytes = new Array[Byte](size)
      bytes
    }
    Using.resource(new JournalFrames(plan.slices.iterator, store, source, loss(_, _, _))) { frames =>
      Iterator.continually(frames.next(reserve(_))).takeWhile(_.nonEmpty).flatten.foreach(each(_, bytes))
    }
  }

  /** Merges consecutive segments into one, with the same frames; None if some are lost. */
  def joined(segments: Seq[Segment]): Option[Segment] = {
    val writer = begin(segments.head.from)
    try {
      read(segments, segments.head.from, segments.last.until, "they were received just now")((slice, bytes) =>
        append(writer, slice.frame.rows, bytes, 0, slice.frame.length))
      Option.when(writer.until == segments.last.until)(seal(writer))
    } finally writer.giveUp()
  }

  def release(end: P): Unit =
    remove("Old segments", "commit")(positions.segments(end).foreach(journal.release(positions.rows(end), _)))

  /** Removes segments that earlier runs received after a row and never logged. An offset of this run is in Spark's log already.
    *
    * @param isLast
    *   whether no later run has begun
    */
  def sweep(behind: Long, logged: P, isLast: => Boolean): Unit =
    remove("Segments of earlier runs", "run")(
      journal.sweepOrphans(behind, positions.segments(logged).getOrElse(Nil), isLast))

  private def remove(files: String, next: String)(body: => Unit): Unit =
    try body
    catch { case NonFatal(e) => log.warn(s"$files in $store could not be removed; a later $next removes them: $e") }

  /** Runs a write to the journal's directory. */
  private[journal] def writing[A](body: => A): A =
    try body
    catch {
      case e: IOException =>
        val reason = Option(e.getMessage).getOrElse(e.getClass.getSimpleName)
        throw Conditions.JournalUnwritable.because(e)("source" -> source, "path" -> store, "reason" -> reason)
    }
}
