package io.epochal.rest.source.supply

import java.time.{Clock, Duration, Instant}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.record.RecordBlock
import io.epochal.kit.source.journal.{FeedLog, Feeding, JournalledSupply, ReadAhead}
import io.epochal.kit.source.{Extent, PollBudget, PollBudgets, PositionCodec, Supply}
import io.epochal.kit.store.HadoopFileStore
import io.epochal.rest.http.request.HttpCounters
import io.epochal.rest.source.paging.{ChainedPagination, FanOut, PollOptions, ResponseOrigin, RestOptions, RestPosition}

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
    case None => single(options, list(options, store, None, tasks))
    case Some(fanOut) =>
      def member(options: RestOptions, split: () => Int) =
        single(options, list(options, store.below(FanOut.directory(options.params)), None, split()), maxGaps = 0)
      new FanOutSupply(fanOut, options.http.politeness.budget, member, () => options.numPartitions.getOrElse(tasks))
  }

  /** The records of one list that is received into the journal.
    *
    * @param codec
    *   the JSON form of the stream's positions
    */
  def received(options: RestOptions, store: HadoopFileStore, codec: PositionCodec[RestPosition]): RestReceiver =
    received(options, list(options, store, Some(codec), tasks), ChainSupply.MaxGaps)

  private def single(options: RestOptions, list: RestList, maxGaps: Int = ChainSupply.MaxGaps): Supply[RestPosition] =
    if (options.journal) received(options, list, maxGaps) else new LiveSupply(list)

  private def received(options: RestOptions, list: RestList, maxGaps: Int): RestReceiver = options.paging match {
    case chained: ChainedPagination => new ChainSupply(list, chained, maxGaps)
    case _                          => new CountedSupply(list)
  }

  private def list(
      options: RestOptions,
      store: HadoopFileStore,
      codec: Option[PositionCodec[RestPosition]],
      split: => Int): RestList = {
    val pause = options.refresh.interval.getOrElse(PollOptions.FeedPause)
    val feeding = codec.map(Feeding(new FeedLog(store, options.source), _, pause))
    new RestList(options, RestJournal(options, store, split), counters, clock, ahead, feeding, split)
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
  def pace: PollPace = new PollPace(options.refresh.interval, clock)
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

/** Receives the pages of a list into the journal. */
abstract private[rest] class RestReceiver(list: RestList)
    extends JournalledSupply[RestPosition, RestCursor](list.journal, list.ahead, list.feeding) {
  import list.options

  private val pace = list.pace

  /** Receives pages until `most` records are available after the start of `tail`, no more exist, or the budget is spent.
    *
    * @return
    *   whether the budget ended it
    */
  protected def receivePages(tail: RestJournal.Tail, most: Long, budget: PollBudget): Boolean

  /** A feed has its own pace. */
  final override protected def receive(tail: RestJournal.Tail, most: Long, budget: PollBudget): Boolean =
    if (isFed) receivePages(tail, most, budget)
    else
      pace(known, tail.until - tail.available, most) { reach =>
        tail.available < reach && receivePages(tail, reach, budget)
      }

  final protected def add(tail: RestJournal.Tail, budget: PollBudget)(
      block: RecordBlock,
      origin: Option[ResponseOrigin]): Unit = {
    val frame = RestJournal.frame(options, block, origin)
    tail.add(frame.records, frame.bytes, frame.from, frame.length)
    budget.spend(block.length.toLong)
  }

  /** Failures of the server. */
  final override protected def isTransient(error: EpochalException): Boolean =
    RestReceiver.Transient(error.condition)
}

private object RestReceiver {
  private val Transient = Set(
    Conditions.HttpUnreachable,
    Conditions.HttpTimeout,
    Conditions.HttpTooSlow,
    Conditions.HttpStatus,
    Conditions.HttpBodyInvalid,
    Conditions.OAuthRefused)
}
