package io.epochal.spark.source.rest.supply

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.spark.http.HttpCounters
import io.epochal.spark.source.rest.page.{PageFetch, RecordRange}
import io.epochal.spark.source.rest.{RestOptions, RestPlan, RestPosition}

/** `journal=true` for a [[Pagination]]: pages are fetched by the driver, several at a time, into the journal. */
final private[rest] class CountedSupply(
    options: RestOptions,
    frontier: RestFrontier,
    journal: RestJournal,
    counters: HttpCounters,
    connections: => Int,
    ahead: ReadAhead
) extends JournalledSupply(journal, ahead) {

  private lazy val pages = new PageFetch(options, counters, connections)
  private var fetching = false

  override def known: Option[Extent] = frontier.known

  override protected def reset(): Unit = ()

  /** A batch that was planned before `journal` was set is asked for again. */
  override def partitions(start: RestPosition, end: RestPosition): Array[InputPartition] =
    if (end.journal.isDefined) super.partitions(start, end)
    else RestPlan.partitions(options, start.firstUntil(end), end.records, connections)

  override protected def receive(tail: JournalTail, most: Long): Unit = {
    val from = tail.until
    val until = frontier.exists(from, most - (from - tail.start.records), tail.marks)
    if (until > from) {
      fetching = true
      pages.fetch(RecordRange(from, until))(tail.add)
      tail.mark(frontier.marks(tail.until, tail.marks))
    }
  }

  override def close(): Unit = {
    super.close()
    frontier.close()
    if (fetching) pages.close()
  }
}
