package io.epochal.rest.source.supply

import scala.util.Using

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.core.error.Plural
import io.epochal.kit.record.RecordBlock
import io.epochal.kit.source.{Extent, PollBudget, Supply}
import io.epochal.rest.http.HttpClient
import io.epochal.rest.source.page.PageFetch
import io.epochal.rest.source.paging.{RecordRange, ResponseOrigin, RestPlan, RestPosition}

/** `journal=true` for a [[io.epochal.rest.source.paging.Pagination]]: the driver fetches pages, several at a time, into
  * the journal.
  */
final private[rest] class CountedSupply(list: RestList) extends RestReceiver(list) {
  import list.options

  private val frontier = new RestFrontier(options, list.counters)
  private lazy val client = new HttpClient(options.http, list.counters)
  private lazy val threads = PageFetch.threads(list.partitions)
  private var fetching = false
  private var once = false

  /** End of the records known to exist; a spent budget left some of them unreceived. */
  private var waiting = 0L

  override def known: Option[Extent] = frontier.known

  override protected def reset(): Unit = waiting = 0L

  override def freezeEnd(): Unit = once = true

  /** A batch that was planned before `journal` was set is requested again. */
  override def partitions(start: RestPosition, end: RestPosition): Array[InputPartition] =
    if (end.journal.isDefined) super.partitions(start, end)
    else RestPlan.partitions(options, start.firstUntil(end), end.records, list.partitions)

  override protected def receivePages(tail: RestJournal.Tail, most: Long, budget: PollBudget): Boolean = {
    val from = tail.until
    val missing = most - tail.available
    // Under AvailableNow the end is searched first, because the run ends there.
    if (waiting <= from) waiting = frontier.exists(from, if (once) Long.MaxValue else missing, tail.cursor.marks)
    val until = if (waiting - from > missing) from + missing else waiting
    if (until > from) {
      fetch(RecordRange(from, until), budget)(add(tail, budget))
      tail.goOn(tail.cursor.copy(marks = frontier.marks(tail.until, tail.cursor.marks)))
    }
    val spent = budget.spent && tail.until < until
    if (!spent && tail.until < until) waiting = 0L // The list has become shorter.
    spent
  }

  /** The pages that hold the range, including the last page's records past it. When the budget is spent, pages already
    * requested are still received.
    */
  private def fetch(
      range: RecordRange,
      budget: PollBudget)(each: (RecordBlock, Option[ResponseOrigin]) => Unit): Unit = {
    fetching = true
    val scan = options.scan()
    val ahead = list.partitions * CountedSupply.Ahead
    Using.resource(new PageFetch(options, range, client, threads, ahead, Some(scan), () => !budget.spent)) { pages =>
      var at = range.from
      def continues = at == range.from || pages.underWay || !budget.spent
      while (at < range.until && continues && pages.moveTo(at)) {
        val (request, found) = (pages.request, pages.scanned)
        if (found.records > request.size) throw options.mismatch(request, Plural.of(found.records.toLong, "record"))
        scan.blocks(found, pages.page.body).foreach(each(_, pages.page.origin))
        at = math.max(at, request.first + found.records)
      }
    }
  }

  override def close(): Unit = {
    super.close()
    frontier.close()
    if (fetching) {
      threads.shutdownNow()
      client.close()
    }
  }
}

private object CountedSupply {

  /** Pages requested ahead, per connection. */
  private val Ahead = 4
}

/** Plans counted records by number on the driver; tasks request them. */
final private[rest] class LiveSupply(list: RestList) extends Supply[RestPosition] {
  import list.{journal, options}

  private val frontier = new RestFrontier(options, list.counters)
  private val pace = list.pace

  /** The position after which the list is read again from its first record. */
  private var last = Option.empty[RestPosition]

  /** The crawl of the last poll. */
  @volatile private var crawl = 0L

  /** Whether the next poll searches for the end without limit. */
  private var toEnd = false

  override def available(start: RestPosition, most: Long): Long = pace(known, start.records, most)(found(start, _))

  private def found(start: RestPosition, most: Long): Long = {
    val reach = if (toEnd) Long.MaxValue else most
    val ahead = if (last.contains(start)) 0L else frontier.exists(start.records, reach, start.marks) - start.records
    if (options.restarts && !last.contains(start) && frontier.drifted(start.records)) last = Some(start)
    val again = last.contains(start)
    val found = if (again) frontier.exists(0, reach) else ahead
    crawl = if (again) start.crawl + 1 else start.crawl
    toEnd = false
    math.min(most, found)
  }

  override def freezeEnd(): Unit = toEnd = true

  override def take(start: RestPosition, records: Long): RestPosition =
    if (last.contains(start)) RestPosition(records, crawl = start.crawl + 1, marks = frontier.marks(records, Nil))
    else {
      val end = start.records + records
      RestPosition(end, crawl = start.crawl, marks = frontier.marks(end, start.marks))
    }

  override def rowsBefore(position: RestPosition): Long = if (position.crawl == crawl) position.records else 0L

  override def known: Option[Extent] = frontier.known

  override def latest: Option[RestPosition] = known.map(extent => RestPosition(extent.exists, crawl = crawl))

  /** A journalled batch is read from the journal, even if `journal` is no longer set. */
  override def partitions(start: RestPosition, end: RestPosition): Array[InputPartition] =
    if (end.journal.isDefined) journal.partitions(start, end)
    else {
      val from = start.firstUntil(end)
      if (from < end.records) frontier.contact(end.records - 1)
      RestPlan.partitions(options, from, end.records, list.partitions)
    }

  override def release(end: RestPosition): Unit = journal.release(end)

  override def close(): Unit = frontier.close()
}
