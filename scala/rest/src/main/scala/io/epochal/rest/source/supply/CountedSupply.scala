package io.epochal.rest.source.supply

import scala.util.Using

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.core.error.Plural
import io.epochal.kit.record.RecordBlock
import io.epochal.kit.source.{Extent, PollBudget}
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
