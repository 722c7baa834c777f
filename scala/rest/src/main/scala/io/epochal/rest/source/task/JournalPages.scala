package io.epochal.rest.source.task

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.{FileStore, Slice}
import io.epochal.kit.record.{Body, RecordOrigin, ScannedPages}
import io.epochal.kit.source.journal.JournalFrames
import io.epochal.rest.source.page.PageFront
import io.epochal.rest.source.paging.RestOptions

/** The records of a task, from the journal: a frame of it is a page. */
final private[rest] class JournalPages(options: RestOptions, slices: Iterator[Slice], store: FileStore)
    extends ScannedPages {

  private val format = options.rules.format
  private val body = new Body
  private val frames = new JournalFrames(slices, store, options.source, options.lost(_, _, _))
  private var from = Option.empty[RecordOrigin]

  override def origin: Option[RecordOrigin] = from

  override protected def nextPage(): Boolean = {
    val slice = frames.next(body.reserve)
    slice.foreach { wanted =>
      val front = PageFront.take(body)
      if (front.lines != format.lines) throw changed(front)
      from = front.origin
      open(format.ofBlocks.read(body.piece, options.place), wanted.first, wanted.skip, wanted.take)
    }
    slice.nonEmpty
  }

  override def close(): Unit = frames.close()

  private def changed(front: PageFront): EpochalException = {
    def named(lines: Option[String]) = s"bodyFormat=${lines.getOrElse("json")}"
    Conditions.OptionConflict(
      "format" -> RestOptions.Format,
      "options" -> s"${named(format.lines)}, pages that were journalled with ${named(front.lines)}",
      "suggestion" -> "Set bodyFormat back until those pages are delivered, or use a new checkpoint."
    )
  }
}
