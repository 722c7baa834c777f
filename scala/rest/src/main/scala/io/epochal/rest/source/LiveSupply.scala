package io.epochal.rest.source

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.kit.source.{Extent, Supply}

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

  override def available(start: RestPosition, most: Long): Long = pace(known, start.records, most)(countNew(start, _))

  private def countNew(start: RestPosition, most: Long): Long = {
    val reach = if (toEnd) Long.MaxValue else most
    val ahead = if (last.contains(start)) 0L else frontier.exists(start.records, reach, start.marks) - start.records
    if (options.restarts && !last.contains(start) && frontier.drifted(start.records)) last = Some(start)
    val again = last.contains(start)
    val records = if (again) frontier.exists(0, reach) else ahead
    crawl = if (again) start.crawl + 1 else start.crawl
    toEnd = false
    math.min(most, records)
  }

  override def freezeEnd(): Unit = toEnd = true

  override def take(start: RestPosition, records: Long): RestPosition = {
    val from = if (last.contains(start)) RestPosition.Planned(0, start.crawl + 1) else start
    val end = from.records + records
    val position = RestPosition.Planned(end, from.crawl, frontier.marksOfTasks(from.records, end, from.marks))
    if (options.restarts && from == start && frontier.drifted(start.records)) last = Some(position)
    position
  }

  override def rowsBefore(position: RestPosition): Long = if (position.crawl == crawl) position.records else 0L

  override def known: Option[Extent] = frontier.extent

  override def latest: Option[RestPosition] = known.map(extent => RestPosition.Planned(extent.exists, crawl))

  /** A journalled batch is read from the journal, even if `journal` is no longer set. */
  override def partitions(start: RestPosition, end: RestPosition): Array[InputPartition] =
    if (end.journal.nonEmpty) journal.partitions(start, end)
    else {
      val from = start.firstUntil(end)
      if (from < end.records) {
        frontier.replay(start, end)
        if (options.restarts && frontier.drifted(from)) last = Some(end)
      }
      RestPlan.partitions(options, from, end.records, list.partitions)
    }

  override def release(end: RestPosition): Unit = journal.release(end)

  override def close(): Unit = frontier.close()
}
