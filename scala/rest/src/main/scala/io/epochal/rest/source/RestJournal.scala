package io.epochal.rest.source

import io.epochal.core.journal.{FileStore, Segment}
import io.epochal.kit.record.{Body, RecordBlock}
import io.epochal.kit.source.journal.{JournalPositions, JournalTail, SourceJournal}

/** Where reading resumes.
  *
  * @param next
  *   None if pages are found by counting records
  * @param marks
  *   of earlier records
  */
final private[rest] case class RestCursor(next: Option[NextPage], marks: Seq[Mark])

/** The journal's part of a [[RestPosition]]. */
final private[rest] class RestPositions(options: RestOptions) extends JournalPositions[RestPosition, RestCursor] {

  override def rows(position: RestPosition): Long = position.records

  override def segments(position: RestPosition): Option[Seq[Segment]] = position.journal.map(_.segments)

  /** Segments with undelivered records, or with records that later windows may return again. */
  override def needed(position: RestPosition): Seq[Segment] = position.journal.fold(Seq.empty[Segment]) { journalled =>
    val seen = options.paging match {
      case _: TimeWindow =>
        journalled.next.flatMap(_.token).flatMap(WindowPosition.parse).flatMap(_.seen.headOption).map(_.record)
      case _ => None
    }
    journalled.from(math.min(position.records, seen.getOrElse(position.records))).segments
  }

  override def cursor(position: RestPosition): RestCursor =
    RestCursor(position.journal.flatMap(_.next), position.marks)

  override def after(start: RestPosition, rows: Long, segments: Seq[Segment], cursor: RestCursor): RestPosition =
    RestPosition(start.records + rows, Some(JournalPosition(segments, cursor.next)), start.crawl, marks = cursor.marks)

  override def at(like: RestPosition, row: Long): RestPosition = RestPosition(row, crawl = like.crawl)
}

/** The pages of an API in the stream's journal: each is a frame, preceded by its [[PageFront]]. */
private[rest] object RestJournal {
  type Files = SourceJournal[RestPosition, RestCursor]
  type Tail = JournalTail[RestPosition, RestCursor]

  /** @param store
    *   the journal's directory in the checkpoint
    * @param parts
    *   maximum partitions of a batch if `numPartitions` is not set
    */
  def apply(options: RestOptions, store: FileStore, parts: => Int): Files =
    new SourceJournal(
      store,
      options.source,
      new RestPositions(options),
      options.lost(_, _, _),
      options.numPartitions.getOrElse(parts))

  /** A page as a frame of the journal. */
  def frame(options: RestOptions, block: RecordBlock, origin: Option[ResponseOrigin]): RecordBlock =
    block.behind(PageFront(options.rules.format.lines, origin).bytes)

  /** Reads pages of delivered records: passes the bytes, their number, and how many records to skip and to take.
    *
    * @throws io.epochal.core.error.EpochalException
    *   DATA_LOSS if records are missing from the journal; with failOnDataLoss=false the others are read
    */
  def read(journal: Files, segments: Seq[Segment], from: Long, until: Long)(
      page: (Array[Byte], Int, Int, Int) => Unit): Unit = {
    val buffer = new Body
    journal.read(segments, from, until, KeysNeeded)(buffer.reserve) { slice =>
      PageFront.take(buffer): Unit
      page(buffer.bytes, buffer.length, slice.skip, slice.take)
    }
  }

  private val KeysNeeded = "their keys are needed to recognise records that the next window returns again"
}
