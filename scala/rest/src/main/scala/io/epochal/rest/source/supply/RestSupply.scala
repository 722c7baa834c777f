package io.epochal.rest.source.supply

import java.time.Clock

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.kit.source.journal.{FeedLog, Feeding, ReadAhead}
import io.epochal.kit.source.{Extent, PollBudgets, PositionCodec, Supply}
import io.epochal.kit.store.HadoopFileStore
import io.epochal.rest.http.request.HttpCounters
import io.epochal.rest.source.paging.{ChainedPagination, FanOut, RefreshOptions, RestOptions, RestPlan, RestPosition}

/** Where the records of a stream come from: from the API when a batch is read, or from the journal. */
private[rest] object RestSupply {

  /** @param store
    *   the journal's directory
    * @param parts
    *   partitions of a batch at the most, and connections of the driver, where the options name no number
    * @param budgets
    *   begun by who asks, for all members together
    * @param codec
    *   how the stream's positions are logged
    */
  def of(
      options: RestOptions,
      store: HadoopFileStore,
      counters: HttpCounters,
      parts: => Int,
      clock: Clock,
      budgets: PollBudgets,
      codec: PositionCodec[RestPosition]): Supply[RestPosition] = {
    val ahead = new ReadAhead(budgets)
    options.fanOut match {
      case None => single(options, store, counters, parts, clock, ahead, Some(codec), ChainSupply.MaxGaps)
      case Some(fanOut) =>
        def member(options: RestOptions, split: () => Int) =
          single(
            options,
            store.below(FanOut.directory(options.params)),
            counters,
            split(),
            clock,
            ahead,
            codec = None,
            maxGaps = 0)
        new FanOutSupply(fanOut, options.http.politeness.budget, member, () => options.numPartitions.getOrElse(parts))
    }
  }

  private def single(
      options: RestOptions,
      store: HadoopFileStore,
      counters: HttpCounters,
      parts: => Int,
      clock: Clock,
      ahead: ReadAhead,
      codec: Option[PositionCodec[RestPosition]],
      maxGaps: Int): Supply[RestPosition] = {
    val journal = RestJournal(options, store, parts)
    val pause = options.refresh.interval.getOrElse(RefreshOptions.FeedPause)
    val feeding = codec.map(Feeding(new FeedLog(store, options.source), _, pause))
    def frontier = new RestFrontier(options, counters)
    val supply = options.paging match {
      case chained: ChainedPagination =>
        new ChainSupply(options, chained, journal, counters, clock, ahead, feeding, maxGaps)
      case _ if options.journal =>
        val connections = options.numPartitions.getOrElse(parts)
        new CountedSupply(options, frontier, journal, counters, connections, ahead, feeding)
      case _ => new LiveSupply(options, frontier, journal, parts)
    }
    options.refresh.interval.fold[Supply[RestPosition]](supply)(new RefreshedSupply(supply, _, clock))
  }

  /** The supply that receives pages into the journal, of those that do. */
  def receiver(supply: Supply[RestPosition]): Option[RestReceiver] = supply match {
    case receiver: RestReceiver     => Some(receiver)
    case refreshed: RefreshedSupply => receiver(refreshed.supply)
    case _                          => None
  }
}

/** Records that are counted are planned by number, and asked for by the tasks. */
final private[rest] class LiveSupply(
    options: RestOptions,
    frontier: RestFrontier,
    journal: RestJournal.Files,
    parts: => Int
) extends Supply[RestPosition] {

  /** The position after which the list is begun again. */
  private var last = Option.empty[RestPosition]

  /** Of the list that was looked at last. */
  @volatile private var crawl = 0L

  /** Whether the next poll finds the end, however far it is. */
  private var toEnd = false

  override def available(start: RestPosition, most: Long): Long = {
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

  /** A batch that was journalled stays so, when `journal` is not set any more. */
  override def partitions(start: RestPosition, end: RestPosition): Array[InputPartition] =
    if (end.journal.isDefined) journal.partitions(start, end)
    else {
      val from = start.firstUntil(end)
      if (from < end.records) frontier.contact(end.records - 1)
      RestPlan.partitions(options, from, end.records, parts)
    }

  override def release(end: RestPosition): Unit = journal.release(end)

  override def close(): Unit = frontier.close()
}
