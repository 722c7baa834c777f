package io.epochal.rest.source.supply

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.kit.source.journal.{Feeding, ReadAhead}
import io.epochal.kit.source.{Extent, PollBudget}
import io.epochal.rest.http.request.HttpCounters
import io.epochal.rest.source.page.PageFetch
import io.epochal.rest.source.paging.{RecordRange, RestOptions, RestPlan, RestPosition}

/** `journal=true` for a [[Pagination]]: pages are fetched by the driver, several at a time, into the journal. */
final private[rest] class CountedSupply(
    options: RestOptions,
    frontier: RestFrontier,
    journal: RestJournal.Files,
    counters: HttpCounters,
    connections: => Int,
    ahead: ReadAhead,
    feeding: Option[Feeding[RestPosition]]
) extends RestReceiver(options, journal, ahead, feeding) {

  private lazy val pages = new PageFetch(options, counters, connections)
  private var fetching = false
  private var once = false

  /** Records below this are there, and were not received when a budget was spent. */
  private var waiting = 0L

  override def known: Option[Extent] = frontier.known

  override protected def reset(): Unit = waiting = 0L

  override def freezeEnd(): Unit = once = true

  /** A batch that was planned before `journal` was set is asked for again. */
  override def partitions(start: RestPosition, end: RestPosition): Array[InputPartition] =
    if (end.journal.isDefined) super.partitions(start, end)
    else RestPlan.partitions(options, start.firstUntil(end), end.records, connections)

  override protected def receive(tail: RestJournal.Tail, most: Long, budget: PollBudget): Boolean = {
    val from = tail.until
    val wanted = most - tail.available
    // Under AvailableNow the end is found first: it is where the run ends.
    if (waiting <= from) waiting = frontier.exists(from, if (once) Long.MaxValue else wanted, tail.cursor.marks)
    val until = if (waiting - from > wanted) from + wanted else waiting
    if (until > from) {
      fetching = true
      pages.fetch(RecordRange(from, until), () => !budget.spent)(add(tail, budget))
      tail.goOn(tail.cursor.copy(marks = frontier.marks(tail.until, tail.cursor.marks)))
    }
    val spent = budget.spent && tail.until < until
    if (!spent && tail.until < until) waiting = 0L // The list has become shorter.
    spent
  }

  override def close(): Unit = {
    super.close()
    frontier.close()
    if (fetching) pages.close()
  }
}
