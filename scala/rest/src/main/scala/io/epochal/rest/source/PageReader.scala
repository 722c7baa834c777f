package io.epochal.rest.source

import com.fasterxml.jackson.core.JsonProcessingException

import io.epochal.kit.record.{NoRecords, Pages, RecordOrigin, Records}
import io.epochal.rest.http.HttpClient

/** The records of a range of counted ones, page after page, parsed in the task's own thread.
  *
  * @param depth
  *   maximum concurrent requests
  */
final private[rest] class PageReader(list: ListRequests, range: RecordRange, client: HttpClient, depth: Int)
    extends Pages {
  private val format = list.rules.format
  private val pages = new PageFetch(list, range, client, PageFetch.threads, depth)
  private var pageRecords: Records = NoRecords
  private var at = range.from
  private var ended = false

  /** One past the last record that the page can have. */
  private var end = Long.MinValue

  override def records: Records = pageRecords

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
    if (at == end && step()) throw list.errors.mismatch(pages.request, "more records than that")
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
    pageRecords = format.open(pages.page.body, list.place)
    val _ = pageRecords.skip(record - pages.request.first)
  }
}
