package io.epochal.rest.source

import io.epochal.core.error.EpochalException
import io.epochal.core.journal.{FileStore, Slice}
import io.epochal.kit.record.{Body, RecordOrigin, ScannedPages}
import io.epochal.kit.source.journal.JournalFrames

/** A task's records from the journal, in which each frame is a page.
  *
  * @param originOf
  *   the origin of a page's records
  */
final private[rest] class JournalPages(
    list: ListRequests,
    slices: Iterator[Slice],
    store: FileStore,
    originOf: PageFront => Option[RecordOrigin] = _.origin)
    extends ScannedPages {

  private val format = list.rules.format
  private val body = new Body
  private val frames = new JournalFrames(slices, store, list.errors.source, list.errors.dataLoss(_, _, _))
  private var from = Option.empty[RecordOrigin]

  override def origin: Option[RecordOrigin] = from

  override protected def nextPage(): Boolean = {
    val slice = frames.next(body.reserve)
    slice.foreach { part =>
      val front = PageFront.extract(body)
      if (front.lines != format.lines) throw formatConflict(front)
      from = originOf(front)
      open(format.ofBlocks.read(body.piece, list.place), part.first, part.skip, part.take)
    }
    slice.nonEmpty
  }

  override def close(): Unit = frames.close()

  private def formatConflict(front: PageFront): EpochalException = {
    def optionOf(lines: Option[String]) = s"{option:bodyFormat=${lines.getOrElse("json")}}"
    RestOptions.group.conflict(
      s"${optionOf(format.lines)}, pages that were journalled with ${optionOf(front.lines)}",
      "Set {option:bodyFormat} back until those pages are delivered, or use a new checkpoint.")
  }
}
