package io.epochal.kit.source.journal

import scala.annotation.unused

import org.apache.spark.sql.connector.read.InputPartition
import org.slf4j.LoggerFactory

import io.epochal.core.error.EpochalException
import io.epochal.kit.source.{Extent, PollBudget, Supply}

/** The supply of an origin that cannot repeat its rows: a connector implements how to receive them; they are journalled,
  * planned and read from the journal.
  *
  * Between two offsets that Spark logs, received rows wait in segments that no offset names yet: an offset without new rows
  * would start an empty batch. A poll ends at the limit of the batch, or at its own bounds of time and bytes: a long list
  * is delivered in parts while it is read. Receiving then continues while the batch runs, up to the same limit and bounds
  * again; the next poll finds the rows.
  *
  * In continuous and real-time queries a [[JournalFeed]] receives instead, in its own thread. A later run, in any mode, first
  * delivers rows that the feed has received and no offset names, before it requests more. In micro-batches they are a batch of
  * their own: a sink may reject that epoch until the earlier trigger has run once more, and rows received for it would be
  * received twice.
  *
  * @param feeding
  *   None: the source has no such queries
  * @tparam C
  *   where the origin is read next, and what else a position must hold of it: see [[JournalPositions]]
  */
abstract class JournalledSupply[P, C](
    journal: SourceJournal[P, C],
    ahead: ReadAhead,
    feeding: Option[Feeding[P]] = None
) extends Supply[P] {
  import journal.positions

  /** Receives rows after the last one of `tail`, until there are `most` after its start, no more arrive, or the budget is
    * spent.
    *
    * @return
    *   whether the budget ended it
    */
  protected def receive(tail: JournalTail[P, C], most: Long, budget: PollBudget): Boolean

  /** Forgets its state: the next rows come after another position. */
  protected def reset(): Unit

  /** Called once in a run, when Spark's log has an offset of this run: no earlier run can log one any more. */
  protected def logged(@unused end: P): Unit = ()

  /** Whether a request may succeed on retry after this failure. */
  protected def isTransient(error: EpochalException): Boolean

  private val log = LoggerFactory.getLogger(classOf[JournalledSupply[_, _]])
  private var tail = Option.empty[JournalTail[P, C]]

  @volatile private var lastExtent = Option.empty[Extent]

  override def known: Option[Extent] = lastExtent

  /** Sets the result of the last poll. */
  final protected def report(extent: Extent): Unit = lastExtent = Some(extent)

  /** The start of the last poll, for all threads. */
  @volatile private var lastPoll = Option.empty[P]

  /** The limit at which the last poll ended, if another poll follows. */
  private var cut = Option.empty[Long]

  /** Whether the budget ended the last receive. */
  @volatile private var bounded = false

  /** The row after the last one that earlier runs logged; None before the first poll. */
  private var pendingSweep = Option.empty[Long]
  private var swept = false

  /** The receive that runs ahead of the next batch. Nothing else is received meanwhile. */
  private var following = Option.empty[(JournalTail[P, C], WorkAhead)]

  /** The feed of a continuous or real-time query. */
  private var feed = Option.empty[JournalFeed[P, C]]

  final override def available(start: P, most: Long): Long = {
    val aheadOfIt = joined(start)
    val now = tailAfter(start)
    def missing = now.available < most
    def ended = known.exists(_.ends <= now.until)
    val looked = aheadOfIt && now.available > 0 && (ended || bounded)
    if (!now.wasFed) {
      if (missing && !looked) orDiscard { bounded = receive(now, most, ahead.polls.poll) }
      cut = Option.when((!missing || bounded) && !ended)(most)
    }
    now.available
  }

  override def paused: Boolean = bounded && tail.exists(_.available == 0)

  final override def take(start: P, rows: Long): P = tailAfter(start).take(rows)

  final override def rowsBefore(position: P): Long = positions.rows(position)

  final override def latest: Option[P] =
    for {
      extent <- known
      start <- lastPoll
    } yield positions.at(start, extent.exists)

  override def partitions(start: P, end: P): Array[InputPartition] = {
    if (tail.exists(now => now.start != end && now.after(end).nonEmpty)) sweep(end)
    if (following.isEmpty) readAhead(end)
    journal.partitions(start, end)
  }

  override def release(end: P): Unit = {
    feed.foreach { running =>
      if (positions.rows(end) > 0) sweep(end)
      running.delivered(end)
    }
    journal.release(end)
  }

  /** Begins to receive continuously, after a position from which a task reads on.
    *
    * @return
    *   the row at which the task begins
    */
  def follow(start: P): Long = {
    lastPoll = Some(start)
    feed.foreach(_.check())
    if (!feed.exists(_.holds(start))) {
      discard()
      feed = feeding.map(begin(start, _))
    }
    positions.rows(start)
  }

  /** The position at a row up to which a task has read. */
  def followedTo(row: Long): P =
    feed.getOrElse(throw new IllegalStateException("nothing is received for tasks without an end")).end(row)

  /** Whether a feed receives, in its own thread. */
  final protected def isFed: Boolean = feed.nonEmpty

  private def begin(start: P, feeding: Feeding[P]): JournalFeed[P, C] = {
    feeding.log.claim()
    val begun = new JournalFeed(journal, feeding, start, received(start), receive(_, _, _))
    if (pendingSweep.isEmpty) pendingSweep = Some(begun.begun)
    begun.begin()
    LiveFeeds.add(journal.store, begun)
    begun
  }

  /** Rows that an earlier feed has received after a position. */
  private def received(start: P): Option[Ahead[C]] =
    feeding.flatMap(given => given.log.takeOver().flatMap(JournalFeed.ahead(positions, given.codec, start, _)))

  override def close(): Unit = {
    ahead.close()
    discard()
  }

  /** Spark plans offsets that it has logged: once its log has an offset of this run, no earlier run can log one. */
  private def sweep(end: P): Unit = if (!swept) {
    swept = true
    pendingSweep.foreach(journal.sweep(_, end, feeding.forall(_.log.isOwn)))
    logged(end)
  }

  /** Reads ahead, but not beyond an end that was seen. */
  private def readAhead(end: P): Unit =
    for {
      limit <- cut
      next <- tail.filter(_.start != end).flatMap(_.after(end))
      most = known.fold(limit)(extent => math.min(limit, extent.ends - positions.rows(end)))
      if next.available < most
    } following = Some(next -> ahead.start { bounded = receive(next, most, ahead.polls.ahead) })

  /** Waits for the receive that ran ahead after this position. Its failure may be transient: the next poll continues, or
    * reports it.
    *
    * @return
    *   whether there was one
    */
  private def joined(start: P): Boolean =
    following.exists { case (next, work) =>
      next.start == start && {
        try {
          orDiscard(work.await())
          tail = Some(next)
          following = None
          true
        } catch {
          case error: EpochalException if isTransient(error) =>
            log.warn(s"A request ahead of the next batch failed and is repeated: ${error.problem}")
            false
        }
      }
    }

  private def tailAfter(start: P): JournalTail[P, C] = {
    val now = tail.filter(_ => following.isEmpty).flatMap(_.after(start)).getOrElse {
      discard()
      new JournalTail(journal, start, received(start))
    }
    if (pendingSweep.isEmpty) pendingSweep = Some(now.until)
    lastPoll = Some(start)
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
    feed.foreach { ended =>
      LiveFeeds.remove(journal.store, ended)
      ended.close()
    }
    feed = None
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
