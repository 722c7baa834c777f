package io.epochal.rest.source

import io.epochal.core.journal.{FileStore, Segment}
import io.epochal.kit.record.Body
import io.epochal.kit.source.journal.{JournalTail, SourceJournal}

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
      new RestPositions(options.requests.paging),
      options.errors.dataLoss(_, _, _),
      options.numPartitions.getOrElse(parts))

  /** Reads pages of delivered records: passes the bytes, their number, and how many records to skip and to take.
    *
    * @throws io.epochal.core.error.EpochalException
    *   DATA_LOSS if records are missing from the journal; with failOnDataLoss=false the others are read
    */
  def read(journal: Files, segments: Seq[Segment], from: Long, until: Long)(
      page: (Array[Byte], Int, Int, Int) => Unit): Unit = {
    val buffer = new Body
    journal.read(segments, from, until, KeysNeeded) { (slice, bytes) =>
      System.arraycopy(bytes, 0, buffer.reserve(slice.frame.length), 0, slice.frame.length)
      PageFront.extract(buffer): Unit
      page(buffer.bytes, buffer.length, slice.skip, slice.take)
    }
  }

  private val KeysNeeded = "their keys are needed to recognise records that the next window returns again"
}
