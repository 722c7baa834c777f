package io.epochal.rest.source.supply

import java.io.IOException

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.spark.sql.connector.read.InputPartition
import org.slf4j.LoggerFactory

import io.epochal.core.error.Conditions
import io.epochal.core.journal.{FileStore, Journal, JournalDamage, Segment, SegmentWriter, Slice}
import io.epochal.rest.http.request.BodyBuffer
import io.epochal.rest.source.page.{PageFront, RecordBlock}
import io.epochal.rest.source.paging.{RestOptions, RestPosition, TimeWindow, WindowPosition}

/** The records of one task, in the journal. */
final private[rest] case class JournalPartition(slices: Seq[Slice]) extends InputPartition

/** The stream's [[io.epochal.core.journal.Journal]], with what its failures mean for a query; threads as there.
  *
  * @param store
  *   its directory, in the source's part of the checkpoint
  * @param parts
  *   partitions of a batch at the most
  */
final private[rest] class RestJournal(options: RestOptions, store: FileStore, parts: => Int) {
  private val journal = new Journal(store, options.source)

  /** @throws EpochalException
    *   JOURNAL_UNWRITABLE, as all that writes
    */
  def begin(from: Long): SegmentWriter = writing(journal.begin(from))

  def append(writer: SegmentWriter, block: RecordBlock): Unit = writing {
    val payload = block.behind(PageFront(options.rules.format.lines, block.origin).bytes)
    writer.append(payload.records, payload.bytes, payload.from, payload.length)
  }

  def seal(writer: SegmentWriter): Segment = writing(journal.seal(writer))

  /** @throws EpochalException
    *   DATA_LOSS, where the journal does not have all records; with failOnDataLoss=false those that it has are read
    */
  def partitions(start: RestPosition, end: RestPosition): Array[InputPartition] = {
    val plan = journal.plan(end.journal.fold(Seq.empty[Segment])(_.segments), start.records, end.records)
    plan.gaps.foreach(gap => RestJournal.log.warn(options.lost(gap.from, gap.until, gap.reason)))
    if (plan.slices.isEmpty) Array.empty
    else plan.split(options.numPartitions.getOrElse(parts)).map(JournalPartition(_)).toArray
  }

  /** The segments of a position that the offsets after it must name: those with records that are not delivered, or whose keys
    * later windows may give again.
    */
  def needed(position: RestPosition): Seq[Segment] = position.journal.fold(Seq.empty[Segment]) { journalled =>
    val seen = options.paging match {
      case _: TimeWindow =>
        journalled.next.flatMap(_.token).flatMap(WindowPosition.parse).flatMap(_.seen.headOption).map(_.record)
      case _ => None
    }
    journalled.from(math.min(position.records, seen.getOrElse(position.records))).segments
  }

  /** Reads records that were delivered before: of each page its bytes and their number, and which records are wanted, so many after
    * so many others.
    *
    * @throws EpochalException
    *   DATA_LOSS, where the journal does not have all; with failOnDataLoss=false those that it has are read
    */
  def read(segments: Seq[Segment], from: Long, until: Long)(page: (Array[Byte], Int, Int, Int) => Unit): Unit = {
    def lost(from: Long, until: Long, reason: String): Unit =
      RestJournal.log.warn(
        options
          .lost(from, until, s"$reason; their keys are needed to recognise records that the next window returns again"))
    val plan = journal.plan(segments, from, until)
    plan.gaps.foreach(gap => lost(gap.from, gap.until, gap.reason))
    val buffer = new BodyBuffer
    plan.slices.groupBy(_.segment).toSeq.sortBy(_._1).foreach { case (segment, slices) =>
      Using.resource(store.open(segment)) { file =>
        slices.foreach { slice =>
          try {
            Journal.read(file, slice)(buffer.reserve)
            PageFront.take(buffer): Unit
            page(buffer.bytes, buffer.length, slice.skip, slice.take)
          } catch { case damage: JournalDamage => lost(slice.first, slice.first + slice.take, damage.getMessage) }
        }
      }
    }
  }

  def release(end: RestPosition): Unit =
    try end.journal.foreach(position => journal.release(end.records, position.segments))
    catch {
      // What could not be removed is removed by a later commit, or another run.
      case NonFatal(e) =>
        RestJournal.log.warn(s"Old segments of the journal in $store could not be removed, a later commit does it: $e")
    }

  /** Removes what earlier runs received behind a record and never logged. An offset of this run is in Spark's log already. */
  def sweep(behind: Long, logged: RestPosition): Unit =
    try journal.sweepOrphans(behind, logged.journal.fold(Seq.empty[Segment])(_.segments))
    catch {
      case NonFatal(e) =>
        RestJournal.log.warn(s"What earlier runs left in $store could not be removed, a later run does it: $e")
    }

  private def writing[A](body: => A): A =
    try body
    catch {
      case e: IOException =>
        val reason = Option(e.getMessage).getOrElse(e.getClass.getSimpleName)
        throw Conditions.JournalUnwritable.because(e)("source" -> options.source, "path" -> store, "reason" -> reason)
    }
}

private[rest] object RestJournal {
  private val log = LoggerFactory.getLogger(classOf[RestJournal])
}
