package io.epochal.rest.source

import java.time.{Clock, Duration, Instant}

import org.apache.spark.sql.connector.read.InputPartition

import io.epochal.kit.source.journal.{FeedLog, Feeding, ReadAhead}
import io.epochal.kit.source.{Extent, PollBudgets, PositionCodec, Supply}
import io.epochal.kit.store.HadoopFileStore
import io.epochal.rest.http.HttpCounters

/** Creates the supplies of one stream.
  *
  * @param tasks
  *   maximum partitions of a batch, and connections of the driver, if `numPartitions` is not set
  * @param polls
  *   begun by the stream, for all lists together
  */
final private[rest] class RestSupply(counters: HttpCounters, tasks: => Int, clock: Clock, polls: PollBudgets) {
  private val ahead = new ReadAhead(polls)

  /** The records of one list, or of all members of a table, which do not support feeds.
    *
    * @param store
    *   the journal's directory
    */
  def of(options: RestOptions, store: HadoopFileStore): Supply[RestPosition] = options.fanOut match {
    case None => of(options, store, tasks)
    case Some(fanOut) =>
      def member(options: RestOptions, parts: () => Int) =
        of(options, store.below(FanOut.directory(options.params)), parts())
      new FanOutSupply(fanOut, options.http.budget, member, () => options.numPartitions.getOrElse(tasks))
  }

  private def of(options: RestOptions, store: HadoopFileStore, parts: => Int): Supply[RestPosition] =
    if (options.journal) received(options, store, None, parts)
    else new LiveSupply(new RestList(options, RestJournal(options, store, parts), counters, clock, ahead, None, parts))

  /** The records of one list that is received into the journal.
    *
    * @param codec
    *   the JSON form of the stream's positions, if it may be continuous
    */
  def received(
      options: RestOptions,
      store: HadoopFileStore,
      codec: Option[PositionCodec[RestPosition]],
      parts: => Int = tasks): RestReceiver = {
    val pause = options.values.get(PollOptions.RefreshInterval).getOrElse(PollOptions.FeedPause)
    val feeding = codec.map(Feeding(new FeedLog(store, options.source), _, pause))
    val list = new RestList(options, RestJournal(options, store, parts), counters, clock, ahead, feeding, parts)
    options.paging match {
      case chained: ChainedPagination => new ChainSupply(list, chained)
      case _                          => new CountedSupply(list)
    }
  }
}

/** One list of records, with the resources that its supply needs.
  *
  * @param tasks
  *   maximum partitions of a batch if `numPartitions` is not set
  */
final private[rest] class RestList(
    val options: RestOptions,
    val journal: RestJournal.Files,
    val counters: HttpCounters,
    val clock: Clock,
    val ahead: ReadAhead,
    val feeding: Option[Feeding[RestPosition]],
    tasks: => Int) {

  def partitions: Int = options.numPartitions.getOrElse(tasks)

  /** Limits polls by the refresh interval. */
  def pace: PollPace = new PollPace(options.values.get(PollOptions.RefreshInterval), clock)
}

/** Delays polls for new records until `interval` after the poll that found the end; until then only known records are
  * delivered.
  *
  * @param interval
  *   None: no delay
  */
final private[rest] class PollPace(interval: Option[Duration], clock: Clock) {

  /** Start of the poll that found the end; None while the end is unknown. */
  private var endSeen = Option.empty[Instant]

  /** Polls for at most `most` records after `start`.
    *
    * @param known
    *   the extent found by polls
    * @param poll
    *   gets the maximum
    */
  def apply[A](known: => Option[Extent], start: Long, most: Long)(poll: Long => A): A = interval.fold(poll(most)) {
    rest =>
      val now = clock.instant()
      val toEnd = known.filter(_.exact).map(extent => math.max(0L, extent.exists - start))
      val resting = endSeen.exists(seen => now.isBefore(seen.plus(rest)))
      val found = poll(toEnd.filter(_ => resting).fold(most)(math.min(most, _)))
      // A known end that no poll has seen here was found by reading ahead, while a batch ran.
      if (!resting && (toEnd.forall(_ < most) || endSeen.isEmpty)) endSeen = Option.when(known.exists(_.exact))(now)
      found
  }
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

  override def release(end: RestPosition): Unit = if (end.journal.isDefined) journal.release(end)

  override def close(): Unit = frontier.close()
}
