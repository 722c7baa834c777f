package io.epochal.rest.source.task

import com.fasterxml.jackson.core.JsonProcessingException
import org.slf4j.LoggerFactory

import io.epochal.kit.record.{NoRecords, Pages, RecordOrigin, Records}
import io.epochal.rest.http.HttpClient
import io.epochal.rest.source.page.{Page, PageRecords, PagesAhead}
import io.epochal.rest.source.paging.{PageRequest, RecordRange, RestOptions}

/** The records of a range, page after page. They are parsed in the task's own thread.
  *
  * A page may hold fewer records than it was asked for: the next request goes on where it ended. A response without any
  * record that is new is the end of the API, and so a loss within a planned range.
  *
  * @param depth
  *   requests under way at the same time
  */
final private[rest] class PageReader(options: RestOptions, range: RecordRange, client: HttpClient, depth: Int)
    extends Pages {
  import PageReader._

  private val format = options.rules.format
  private val fetched = new PagesAhead(options, range, client, depth)
  private var current: Requested = _
  private var opened: Records = NoRecords
  private var at = range.from
  private var ended = false
  private var pages = 0L

  override def records: Records = opened

  override def origin: Option[RecordOrigin] = current.page.origin

  override def index: Long = at - 1

  override def count: Long = pages

  @scala.annotation.tailrec
  override def next(): Boolean =
    if (ended || at >= range.until) false
    else if (current != null && at < current.request.end && step()) {
      at += 1
      true
    } else {
      nextPage()
      next()
    }

  override def close(): Unit = fetched.close()

  override def replaced(): Boolean =
    if (current.proven || isWhole) false
    else {
      reload(index)
      records.next()
    }

  private def step(): Boolean =
    try records.next()
    catch {
      case _: JsonProcessingException if !current.proven =>
        reload(at)
        records.next()
    }

  private def nextPage(): Unit = {
    if (current != null && at == current.request.end && step())
      throw options.mismatch(current.request, "more records than that")
    val endedEarly = current != null && at < current.request.end
    val request = if (endedEarly) options.pagination.goOn(at) else options.pagination.request(at)
    if (current != null && at == current.from && request == current.request) lost()
    else {
      val before = Option.when(endedEarly && request.first == at)(PageRecords.of(options, current.page.body))
      current = new Requested(request, at, fetched.page(request))
      pages += 1
      if (before.exists(isRepeated)) lost()
      else
        try open(at - request.first)
        catch { case _: JsonProcessingException => reload(at) }
    }
  }

  /** Whether the page that was to go on is the one before it. */
  private def isRepeated(before: PageRecords): Boolean = {
    def now = PageRecords.of(options, current.page.body)
    before.isRepeatedBy(
      try now
      catch {
        case _: JsonProcessingException =>
          reload(at)
          now
      })
  }

  /** Asks for the page again, this time until the response is what it should be from end to end, and stands before the record. */
  private def reload(record: Long): Unit = {
    fetched.fetch(current.request, current.page)(prove())
    current.proven = true
    open(record - current.request.first)
  }

  private def open(skip: Long): Unit = {
    opened = format.open(current.page.body, options.place)
    val _ = opened.skip(skip)
  }

  private def isWhole: Boolean =
    try {
      prove()
      current.proven = true
      true
    } catch { case _: JsonProcessingException => false }

  private def prove(): Unit = {
    val _ = format.count(current.page.body, options.place)
  }

  private def lost(): Unit = {
    log.warn(options.lost(at, range.until, s"the list now ends before record $at"))
    ended = true
  }
}

private[rest] object PageReader {
  private val log = LoggerFactory.getLogger(classOf[PageReader])

  /** @param from
    *   the first record that is read from it
    */
  final private class Requested(val request: PageRequest, val from: Long, val page: Page) {

    /** Whether the response is known to be what it should be from end to end. */
    var proven: Boolean = false
  }
}
