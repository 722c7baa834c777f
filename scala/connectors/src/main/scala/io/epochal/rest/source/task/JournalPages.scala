package io.epochal.rest.source.task

import java.io.IOException
import java.net.InetAddress
import java.nio.file.NoSuchFileException

import scala.util.Try

import org.slf4j.LoggerFactory

import io.epochal.core.error.Conditions
import io.epochal.core.journal.{FileInput, FileStore, Journal, JournalDamage, Slice}
import io.epochal.kit.engine.QueryStop
import io.epochal.rest.source.page.{Answer, PageFront}
import io.epochal.rest.source.paging.RestOptions
import io.epochal.rest.source.record.{Records, RowColumns, Utf8Body}

/** The records of a task, from the journal. A page that is not what was written is a loss of its records. A segment that cannot be
  * opened is none: the driver saw it when it planned the task.
  */
final private[rest] class JournalPages(
    options: RestOptions,
    columns: RowColumns,
    slices: Seq[Slice],
    store: FileStore
) extends ScannedPages(options, columns, options.rules.format.journalled) {

  override val answer = new Answer

  override protected def page(): Records[format.Rows] =
    format.inMemory(Utf8Body.of(answer.body), options.endpoint)

  private val remaining = slices.iterator
  private var file = Option.empty[(String, FileInput)]

  @scala.annotation.tailrec
  override protected def turn(): Option[PagePart] =
    if (!remaining.hasNext) None
    else {
      val slice = remaining.next()
      if (load(slice)) Some(PagePart(slice.first, slice.skip, slice.take)) else turn()
    }

  override def close(): Unit = {
    file.foreach(_._2.close())
    file = None
  }

  private def load(slice: Slice): Boolean =
    try {
      Journal.read(opened(slice.segment), slice)(answer.body.reserve)
      val front = PageFront.take(answer.body)
      if (front.lines != options.rules.format.lines) throw changed(front)
      answer.cameFrom(front.origin)
      true
    } catch {
      case damage: JournalDamage => lost(slice, damage.getMessage)
    }

  private def opened(segment: String): FileInput =
    file.collect { case (name, input) if name == segment => input }.getOrElse {
      close()
      val input =
        try store.open(segment)
        catch { case e: IOException if !QueryStop.isInterruption(e) => throw unseen(e) }
      file = Some(segment -> input)
      input
    }

  private def unseen(error: IOException) = {
    val reason = error match {
      case _: NoSuchFileException => "it is not there"
      case _                      => Option(error.getMessage).getOrElse(error.getClass.getSimpleName)
    }
    val host = Try(InetAddress.getLocalHost.getHostName).getOrElse("its host is not known")
    Conditions.JournalUnseen
      .because(error)("host" -> host, "source" -> options.source, "path" -> store, "reason" -> reason)
  }

  private def changed(front: PageFront) = {
    def named(lines: Option[String]) = s"bodyFormat=${lines.getOrElse("json")}"
    Conditions.OptionsConflict(
      "format" -> RestOptions.Format,
      "options" -> s"${named(options.rules.format.lines)}, pages that were journalled with ${named(front.lines)}",
      "suggestion" -> "Set bodyFormat back until those pages are delivered, or use a new checkpoint."
    )
  }

  private def lost(slice: Slice, reason: String): Boolean = {
    JournalPages.log.warn(options.lost(slice.first, slice.first + slice.take, reason))
    false
  }
}

private object JournalPages {
  private val log = LoggerFactory.getLogger(classOf[JournalPages])
}
