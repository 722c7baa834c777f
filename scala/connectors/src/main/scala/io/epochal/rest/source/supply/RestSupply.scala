package io.epochal.rest.source.supply

import java.time.Clock

import org.apache.spark.sql.connector.read.InputPartition
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.FileStore
import io.epochal.kit.store.HadoopFileStore
import io.epochal.rest.http.request.HttpCounters
import io.epochal.rest.source.paging.{
  ChainedPagination,
  FanOut,
  PollBudget,
  PollBudgets,
  RestOptions,
  RestPlan,
  RestPosition
}

/** Where the records of a stream come from, on the driver: from the API when a batch is read, or from the journal.
  *
  * One thread at a time.
  */
private[rest] trait RestSupply {

  /** Records after a position that can be delivered; where they must be asked for, no more than `most` are. Never below 0.
    *
    * @throws EpochalException
    *   DATA_LOSS where the API has fewer records than were delivered, and whatever asking it gives
    */
  def available(start: RestPosition, most: Long): Long

  /** The position after `records` of those that are available after `start`. What lies before it can be read again from now on. */
  def take(start: RestPosition, records: Long): RestPosition

  /** What the last look at the API found; None before the first. */
  def known: Option[Extent]

  /** Whether the last poll ended at pages without records, though more pages follow. */
  def brokeOff: Boolean = false

  /** How many polls ended so. */
  def gaps: Int = 0

  /** Whether the last poll ended at its bounds before it had any record. What it passed need not be asked for again once an offset
    * is taken.
    */
  def paused: Boolean = false

  /** The records between two positions, shared out. */
  def partitions(start: RestPosition, end: RestPosition): Array[InputPartition]

  /** Says that what lies before a position was delivered. */
  def release(end: RestPosition): Unit

  /** Trigger.AvailableNow: what comes after this moment need not be looked for. Who asks stops at the end that a poll sees first. */
  def lookOnce(): Unit = ()

  def close(): Unit
}

private[rest] object RestSupply {

  /** @param store
    *   the journal's directory
    * @param parts
    *   partitions of a batch at the most, and connections of the driver, where the options name no number
    * @param budgets
    *   begun by who asks, for all members together
    */
  def of(
      options: RestOptions,
      store: HadoopFileStore,
      counters: HttpCounters,
      parts: => Int,
      clock: Clock,
      budgets: PollBudgets): RestSupply = {
    val ahead = new ReadAhead(budgets)
    options.fanOut match {
      case None => single(options, store, counters, parts, clock, ahead)
      case Some(fanOut) =>
        def member(options: RestOptions, split: () => Int) =
          single(options, store.below(FanOut.directory(options.params)), counters, split(), clock, ahead)
        new FanOutSupply(fanOut, options.http.politeness.budget, member, () => options.numPartitions.getOrElse(parts))
    }
  }

  private def single(
      options: RestOptions,
      store: FileStore,
      counters: HttpCounters,
      parts: => Int,
      clock: Clock,
      ahead: ReadAhead): RestSupply = {
    val journal = new RestJournal(options, store, parts)
    def frontier = new RestFrontier(options, counters)
    val supply = options.paging match {
      case chained: ChainedPagination => new ChainSupply(options, chained, journal, counters, clock, ahead)
      case _ if options.journal =>
        new CountedSupply(options, frontier, journal, counters, options.numPartitions.getOrElse(parts), ahead)
      case _ => new LiveSupply(options, frontier, journal, parts)
    }
    options.refresh.interval.fold[RestSupply](supply)(new RefreshedSupply(supply, _, clock))
  }
}

/** Records that are counted are planned by number, and asked for by the tasks. */
final private[rest] class LiveSupply(options: RestOptions, frontier: RestFrontier, journal: RestJournal, parts: => Int)
    extends RestSupply {

  /** The position after which the list is begun again. */
  private var last = Option.empty[RestPosition]

  override def available(start: RestPosition, most: Long): Long =
    if (last.contains(start)) frontier.exists(0, most)
    else {
      val until = frontier.exists(start.records, most, start.marks)
      if (options.restarts && frontier.drifted(start.records)) {
        last = Some(start)
        frontier.exists(0, most)
      } else until - start.records
    }

  override def take(start: RestPosition, records: Long): RestPosition =
    if (last.contains(start)) RestPosition(records, crawl = start.crawl + 1, marks = frontier.marks(records, Nil))
    else {
      val end = start.records + records
      RestPosition(end, crawl = start.crawl, marks = frontier.marks(end, start.marks))
    }

  override def known: Option[Extent] = frontier.known

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

/** Records that were journalled are planned and read from the journal.
  *
  * Between two offsets that Spark logs, what was received waits in segments that no offset names yet: an offset with no new
  * records would start an empty batch. A poll ends at the limit of the batch, or at its own bounds of time and bytes (S13): a long
  * list is delivered in pieces while it is read. Receiving then goes on while the batch runs, up to the same limit and bounds
  * again: the next poll finds what came.
  */
abstract private[rest] class JournalledSupply(journal: RestJournal, ahead: ReadAhead) extends RestSupply {

  /** Receives records after the last one of `tail`, until there are `most` after its start, no more come, or the budget is spent.
    *
    * @return
    *   whether the budget ended it
    */
  protected def receive(tail: JournalTail, most: Long, budget: PollBudget): Boolean

  /** Forgets where it stood: the next records come after another position. */
  protected def reset(): Unit

  private var tail = Option.empty[JournalTail]

  /** Where the last look ended at its limit, and another will follow: that limit. */
  private var cut = Option.empty[Long]

  /** Whether what was received last ended at its budget. */
  @volatile private var bounded = false

  /** The record behind those that earlier runs logged; None before the first poll. */
  private var unswept = Option.empty[Long]
  private var swept = false

  /** What is received while the batch before it runs. Nothing else is received meanwhile. */
  private var following = Option.empty[(JournalTail, WorkAhead)]

  final override def available(start: RestPosition, most: Long): Long = {
    val aheadOfIt = joined(start)
    val now = tailAfter(start)
    def missing = now.until - start.records < most
    def ended = known.exists(_.ends <= now.until)
    val looked = aheadOfIt && now.until > start.records && (ended || bounded)
    if (missing && !looked) orDiscard { bounded = receive(now, most, ahead.budgets.poll) }
    cut = Option.when((!missing || bounded) && !ended)(most)
    now.until - start.records
  }

  final override def paused: Boolean = bounded && tail.exists(now => now.until == now.start.records)

  final override def take(start: RestPosition, records: Long): RestPosition = tailAfter(start).take(records)

  override def partitions(start: RestPosition, end: RestPosition): Array[InputPartition] = {
    if (tail.exists(now => now.start != end && now.after(end).nonEmpty)) sweep(end)
    if (following.isEmpty) readAhead(end)
    journal.partitions(start, end)
  }

  final override def release(end: RestPosition): Unit = journal.release(end)

  override def close(): Unit = {
    ahead.close()
    discard()
  }

  /** Spark plans what it has logged: with an offset of this run in its log, no run before can log one any more. */
  private def sweep(end: RestPosition): Unit = if (!swept) {
    swept = true
    unswept.foreach(journal.sweep(_, end))
  }

  /** No further than to an end that was seen. */
  private def readAhead(end: RestPosition): Unit =
    for {
      limit <- cut
      next <- tail.filter(_.start != end).flatMap(_.after(end))
      most = known.fold(limit)(extent => math.min(limit, extent.ends - end.records))
      if next.until - end.records < most
    } following = Some(next -> ahead.start { bounded = receive(next, most, ahead.budgets.ahead) })

  /** Waits for what is received after this position while the batch before it runs. That the server failed then, when nobody
    * waited, may be long over: the look that follows goes on, or tells of it.
    *
    * @return
    *   whether something was
    */
  private def joined(start: RestPosition): Boolean =
    following.exists { case (next, work) =>
      next.start == start && {
        try {
          orDiscard(work.await())
          tail = Some(next)
          following = None
          true
        } catch {
          case error: EpochalException if JournalledSupply.Passing(error.condition) =>
            JournalledSupply.log.warn(s"A request ahead of the next batch failed and is repeated: ${error.problem}")
            false
        }
      }
    }

  private def tailAfter(start: RestPosition): JournalTail = {
    val now = tail.filter(_ => following.isEmpty).flatMap(_.after(start)).getOrElse {
      discard()
      new JournalTail(journal, start)
    }
    if (unswept.isEmpty) unswept = Some(now.until)
    tail = Some(now)
    now
  }

  private def orDiscard(body: => Unit): Unit =
    try body
    catch {
      case e: Throwable =>
        discard()
        throw e
    }

  private def discard(): Unit = {
    following.foreach { case (next, work) =>
      work.cancel()
      next.discard()
    }
    following = None
    tail.foreach(_.discard())
    tail = None
    cut = None
    bounded = false
    reset()
  }
}

private object JournalledSupply {
  private val log = LoggerFactory.getLogger(classOf[JournalledSupply])

  /** Failures of the server, which may be over when it is asked again. */
  private val Passing = Set(
    Conditions.HttpUnreachable,
    Conditions.HttpTimeout,
    Conditions.HttpTooSlow,
    Conditions.HttpStatus,
    Conditions.HttpBodyInvalid,
    Conditions.OAuthRefused)
}
