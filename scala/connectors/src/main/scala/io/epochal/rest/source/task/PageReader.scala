package io.epochal.rest.source.task

import com.fasterxml.jackson.core.JsonProcessingException
import org.slf4j.LoggerFactory

import io.epochal.rest.source.page.{Answer, PageRecords, PageSource, PagesAhead}
import io.epochal.rest.source.paging.{PageRequest, RecordRange, RestOptions}
import io.epochal.rest.source.record.RowColumns

/** The records of a range, page after page. They are parsed in the task's own thread.
  *
  * A page may hold fewer records than it was asked for: the next request goes on where it ended. An answer without any
  * record that is new is the end of the API, and so a loss within a planned range.
  *
  * @param depth
  *   requests under way at the same time
  */
final private[rest] class PageReader(
    options: RestOptions,
    columns: RowColumns,
    range: RecordRange,
    source: PageSource,
    depth: Int
) extends Pages(options, columns, options.rules.format) {
  import PageReader._

  private val answers = new PagesAhead(options, range, source, depth)
  private var page: Page = _
  private var at = range.from
  private var ended = false
  private var opened = 0L

  override def answer: Answer = page.answer

  override def index: Long = at - 1

  override def pages: Long = opened

  @scala.annotation.tailrec
  override def next(): Boolean =
    if (ended || at >= range.until) false
    else if (page != null && at < page.request.end && step()) {
      at += 1
      true
    } else {
      turn()
      next()
    }

  override def close(): Unit = {
    answers.close()
    source.close()
  }

  override protected def replaced(): Boolean =
    if (page.proven || isWhole) false
    else {
      reload(index)
      records.next()
    }

  private def step(): Boolean =
    try records.next()
    catch {
      case _: JsonProcessingException if !page.proven =>
        reload(at)
        records.next()
    }

  private def turn(): Unit = {
    if (page != null && at == page.request.end && step()) throw options.mismatch(page.request, "more records than that")
    val endedEarly = page != null && at < page.request.end
    val request = if (endedEarly) options.pagination.goOn(at) else options.pagination.request(at)
    if (page != null && at == page.from && request == page.request) lost()
    else {
      val before = Option.when(endedEarly && request.first == at)(PageRecords.of(options, page.answer.body))
      page = new Page(request, at, answers.answer(request))
      opened += 1
      if (before.exists(isRepeated)) lost()
      else
        try open(at - request.first)
        catch { case _: JsonProcessingException => reload(at) }
    }
  }

  /** Whether the page that was to go on is the one before it. */
  private def isRepeated(before: PageRecords): Boolean = {
    def now = PageRecords.of(options, page.answer.body)
    before.isRepeatedBy(
      try now
      catch {
        case _: JsonProcessingException =>
          reload(at)
          now
      })
  }

  /** Asks for the page again, this time until the answer is what it should be from end to end, and stands before the record. */
  private def reload(record: Long): Unit = {
    source.fetch(page.request, page.answer)(count())
    page.proven = true
    open(record - page.request.first)
  }

  private def open(skip: Long): Unit = open(format.open(page.answer.body, options.endpoint), skip)

  private def isWhole: Boolean =
    try {
      count()
      page.proven = true
      true
    } catch { case _: JsonProcessingException => false }

  private def count(): Unit = {
    val _ = format.count(page.answer.body, options.endpoint)
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
  final private class Page(val request: PageRequest, val from: Long, val answer: Answer) {

    /** Whether the answer is known to be what it should be from end to end. */
    var proven: Boolean = false
  }
}
