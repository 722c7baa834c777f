package io.epochal.rest.source.page

import java.time.Instant

import com.fasterxml.jackson.core.JsonProcessingException
import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.{FileStore, Slice}
import io.epochal.kit.record.{Body, NoRecords, Pages, RecordOrigin, Records, ScannedPages}
import io.epochal.kit.source.journal.JournalFrames
import io.epochal.rest.http.HttpClient
import io.epochal.rest.source.paging.{ChainedPagination, NextPage, RecordRange, RestOptions, TimeWindow}

/** The records of a range of counted ones, page after page, parsed in the task's own thread.
  *
  * @param depth
  *   maximum concurrent requests
  */
final private[rest] class PageReader(options: RestOptions, range: RecordRange, client: HttpClient, depth: Int)
    extends Pages {
  private val format = options.rules.format
  private val pages = new PageFetch(options, range, client, PageFetch.threads, depth)
  private var opened: Records = NoRecords
  private var at = range.from
  private var ended = false

  /** One past the last record that the page can have. */
  private var end = Long.MinValue

  override def records: Records = opened

  override def origin: Option[RecordOrigin] = pages.page.origin

  override def index: Long = at - 1

  override def count: Long = pages.count

  @scala.annotation.tailrec
  override def next(): Boolean =
    if (ended || at >= range.until) false
    else if (at < end && step()) {
      at += 1
      true
    } else {
      nextPage()
      next()
    }

  override def close(): Unit = {
    pages.close()
    client.close()
  }

  override def replaced(): Boolean =
    if (pages.isProven || pages.isWhole) false
    else {
      reload(index)
      records.next()
    }

  private def step(): Boolean =
    try records.next()
    catch {
      case _: JsonProcessingException if !pages.isProven =>
        reload(at)
        records.next()
    }

  private def nextPage(): Unit = {
    if (at == end && step()) throw options.mismatch(pages.request, "more records than that")
    if (!pages.moveTo(at)) ended = true
    else {
      end = pages.request.end
      try open(at)
      catch { case _: JsonProcessingException => reload(at) }
    }
  }

  /** Reloads the page completely and moves to the record. */
  private def reload(record: Long): Unit = {
    pages.reload()
    open(record)
  }

  private def open(record: Long): Unit = {
    opened = format.open(pages.page.body, options.place)
    val _ = opened.skip(record - pages.request.first)
  }
}

/** All records of a [[ChainedPagination]], for a batch read: one task follows all pages.
  *
  * @param until
  *   the end of the last time window; unused by other kinds
  */
final private[rest] case class ChainPartition(until: Instant) extends InputPartition

final private[rest] class ChainPages(
    options: RestOptions,
    pagination: ChainedPagination,
    client: HttpClient,
    until: Instant
) extends ScannedPages {

  private val chain: Chain = pagination match {
    case windows: TimeWindow =>
      val all = windows.endingAt(until)
      new WindowChain(options, all, client, None, 0, new WindowKeys(Nil, options.mismatch(_, _)), () => until)
    case _ => new PageChain(options, pagination, client, NextPage.First, (_, _) => ())
  }
  private var more = chain.beginPoll()
  private var before = 0L

  override def origin: Option[RecordOrigin] = chain.page.origin

  @scala.annotation.tailrec
  override protected def nextPage(): Boolean =
    if (!more) false
    else {
      val records = chain.nextPage(_ => ())
      more = !chain.atEnd
      if (records == 0) nextPage()
      else {
        open(options.rules.format.open(chain.page.body, options.place), before, 0, records)
        before += records
        true
      }
    }

  override def close(): Unit = {
    client.close()
    chain.page.close()
  }
}

/** A task's records from the journal, in which each frame is a page. */
final private[rest] class JournalPages(options: RestOptions, slices: Iterator[Slice], store: FileStore)
    extends ScannedPages {

  private val format = options.rules.format
  private val body = new Body
  private val frames = new JournalFrames(slices, store, options.source, options.lost(_, _, _))
  private var from = Option.empty[RecordOrigin]

  override def origin: Option[RecordOrigin] = from

  override protected def nextPage(): Boolean = {
    val slice = frames.next(body.reserve)
    slice.foreach { part =>
      val front = PageFront.take(body)
      if (front.lines != format.lines) throw changed(front)
      from = front.origin
      open(format.ofBlocks.read(body.piece, options.place), part.first, part.skip, part.take)
    }
    slice.nonEmpty
  }

  override def close(): Unit = frames.close()

  private def changed(front: PageFront): EpochalException = {
    def optionOf(lines: Option[String]) = s"{option:bodyFormat=${lines.getOrElse("json")}}"
    Conditions.OptionConflict(
      "format" -> RestOptions.Format,
      "options" -> s"${optionOf(format.lines)}, pages that were journalled with ${optionOf(front.lines)}",
      "suggestion" -> "Set {option:bodyFormat} back until those pages are delivered, or use a new checkpoint."
    )
  }
}
