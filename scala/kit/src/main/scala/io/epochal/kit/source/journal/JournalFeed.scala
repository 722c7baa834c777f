package io.epochal.kit.source.journal

import java.time.Duration

import scala.util.Try
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.error.Conditions
import io.epochal.core.journal.Segment
import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.source.{PollBounds, PollBudget, PositionCodec}

/** Rows that were received after a position, though no offset names them.
  *
  * @param segments
  *   that the offsets after the position name
  * @param cursor
  *   where the origin is read next
  */
final case class Ahead[C](segments: Seq[Segment], cursor: C)

/** Receives rows poll after poll, for queries in which tasks keep reading while Spark calls nothing on the driver. The rows of
  * a poll are sealed, written to the [[FeedLog]], and only then visible to the tasks.
  *
  * Each poll with rows creates a segment. Small segments that no offset names are merged, so that offsets stay short.
  *
  * A failure ends the feed, and is thrown to every reader that waits for more.
  *
  * @param ahead
  *   rows already received after `start`
  * @param receive
  *   polls the origin once, from the end of a tail
  */
final private[journal] class JournalFeed[P, C](
    journal: SourceJournal[P, C],
    feeding: Feeding[P],
    start: P,
    ahead: Option[Ahead[C]],
    receive: (JournalTail[P, C], Long, PollBudget) => Boolean
) extends FeedView
    with AutoCloseable {
  import journal.positions

  private var base = start
  private var segments = ahead.fold(positions.needed(start))(_.segments)
  private var cursor = ahead.fold(positions.cursor(start))(_.cursor)
  private var last = JournalFeed.end(segments, positions.rows(start))

  /** The state that the log may contain by now. */
  private var announced = segments -> cursor
  private var failure = Option.empty[Throwable]

  /** Whether the origin has been polled after `start`. */
  private var isPolled = ahead.nonEmpty

  /** An offset that Spark has logged may name segments that begin before this row. */
  private var namedFrom = JournalFeed.end(positions.needed(start), positions.rows(start))
  private var closed = false
  private val budget = new PollBudget(JournalFeed.Bounds)
  private val thread = new DaemonThreads("epochal-feed").newThread(() => run())

  /** The row after the last one that an earlier run may have delivered. */
  val begun: Long = last

  def begin(): Unit = {
    announce(segments, cursor)
    thread.start()
  }

  override def await(row: Long, millis: Long): Option[FeedPlan] =
    FeedView.plan(journal.store, journal.source, received(row, millis), row)

  /** Waits until there is a row at `row`.
    *
    * @return
    *   the segments from there on; empty if there is no such row yet
    * @throws Throwable
    *   the failure that ended the feed, if there will never be such a row
    */
  private def received(row: Long, millis: Long): Seq[Segment] = synchronized {
    val end = System.nanoTime() + millis * 1000000L
    var left = millis
    while (last <= row && failure.isEmpty && left > 0) {
      wait(left)
      left = (end - System.nanoTime() + 999999L) / 1000000L
    }
    if (last <= row) failure.foreach(throw _)
    segments.filter(_.until > row)
  }

  /** The position at a row that a task has read, to be logged. It names all segments received after `base`, also later ones. A
    * task in another process may know a row slightly before this feed announces it.
    *
    * @throws Throwable
    *   the failure that ended the feed
    */
  def end(row: Long): P = {
    if (!feeding.log.isOwn) fail(fenced)
    synchronized {
      while (last < row && failure.isEmpty) wait()
      check()
      namedFrom = last
      at(row)
    }
  }

  /** Throws the failure that ended the feed.
    *
    * @throws Throwable
    *   that failure
    */
  def check(): Unit = synchronized(failure.foreach(throw _))

  /** Whether the query can resume from a position with this feed. */
  def holds(position: P): Boolean = synchronized {
    val row = positions.rows(position)
    failure.isEmpty && row >= positions.rows(base) && row <= last
  }

  /** Reports that an epoch has ended at a position: offsets stop naming segments before it. */
  def delivered(position: P): Unit = synchronized {
    if (holds(position)) {
      val needed = positions.needed(position).map(_.name).toSet
      segments = segments.filter(segment => segment.until > positions.rows(position) || needed(segment.name))
      base = position
    }
  }

  override def close(): Unit = {
    synchronized {
      closed = true
      failure = failure.orElse(Some(new InterruptedException("the query has ended")))
      notifyAll()
    }
    thread.interrupt()
    // The thread may be waiting for the origin or the store, and be interrupted there; its files are its own.
    thread.join(JournalFeed.LongestEnd)
  }

  private def run(): Unit =
    try
      while (!synchronized(closed)) {
        val left = poll()
        if (!left) rest()
      }
    catch {
      case error: Throwable =>
        val isOver = synchronized(closed)
        fail(error)
        if (!isOver) {
          JournalFeed.log.warn(s"The feed has stopped receiving: $error")
          // Tasks in other processes read the failure from the log.
          val (known, next) = synchronized(announced)
          Try(announce(known, next, Some(String.valueOf(error.getMessage)))): Unit
        }
        if (!NonFatal(error) && !error.isInstanceOf[InterruptedException]) throw error
    }

  private def fail(error: Throwable): Unit = synchronized {
    failure = failure.orElse(Some(error))
    notifyAll()
  }

  /** Polls the origin once.
    *
    * @return
    *   whether the origin has more
    */
  private def poll(): Boolean = if (synchronized(segments.size) >= JournalFeed.MostSegments) false else receiveOnce()

  private def receiveOnce(): Boolean = {
    budget.begin()
    val tail = new JournalTail(journal, at(last))
    try {
      val bounded = receive(tail, JournalFeed.Rows, budget)
      val left = bounded || tail.available >= JournalFeed.Rows
      if (tail.available > 0) add(tail.take(tail.available))
      else
        synchronized {
          cursor = tail.cursor
          isPolled = true
        }
      left
    } finally tail.discard()
  }

  /** Makes received rows visible to the tasks. */
  private def add(end: P): Unit = {
    val found = positions.segments(end).getOrElse(Nil).filter(_.from >= last)
    val next = positions.cursor(end)
    announce(synchronized(segments) ++ found, next)
    synchronized {
      segments = segments ++ found
      cursor = next
      isPolled = true
      last = JournalFeed.end(segments, last)
      notifyAll()
    }
    join()
  }

  /** Merges the last segments while they are many and small. Readers that have planned the old segments find their files for
    * three epochs.
    */
  @scala.annotation.tailrec
  private def join(): Unit = {
    val small = synchronized(segments.filter(_.from >= namedFrom).takeRight(JournalFeed.Joined))
    if (small.size == JournalFeed.Joined && small.forall(_.bytes < JournalFeed.SmallBytes)) {
      val isOld = small.map(_.name).toSet
      val replaced = journal.joined(small).exists { one =>
        synchronized {
          // An offset may have named them meanwhile.
          val free = small.head.from >= namedFrom
          if (free) segments = segments.filterNot(segment => isOld(segment.name)) :+ one
          free
        }
      }
      if (replaced) {
        announce(synchronized(segments), cursor)
        join()
      }
    }
  }

  /** Segments named by `start` are available before the first poll has ended. */
  private def at(row: Long): P = synchronized {
    if (isPolled || row > positions.rows(base)) positions.after(base, row - positions.rows(base), segments, cursor)
    else base
  }

  /** Writes the log; throws if another run has taken over, and nothing received may be delivered. */
  private def announce(segments: Seq[Segment], cursor: C, failure: Option[String] = None): Unit = {
    val end = JournalFeed.end(segments, positions.rows(base))
    val position = synchronized {
      // Even if this fails: the file may exist, and tasks in other processes may have read it.
      announced = segments -> cursor
      positions.after(base, end - positions.rows(base), Nil, cursor)
    }
    val received = Received(segments, feeding.codec.toJson(position), failure)
    if (!journal.writing(feeding.log.write(received))) throw fenced
  }

  private def rest(): Unit = synchronized {
    if (!closed) wait(math.max(1L, feeding.pause.toMillis))
  }

  private def fenced = Conditions.JournalFenced("source" -> journal.source, "path" -> journal.store)
}

private[journal] object JournalFeed {
  private val log = LoggerFactory.getLogger(classOf[JournalFeed[_, _]])

  /** Of a poll: a long list becomes visible to the tasks while it is read. */
  private val Bounds = PollBounds(Duration.ofMillis(100), 16L << 20)
  private val Rows = 10000L

  private val Joined = 32
  private val SmallBytes = 2L << 20

  /** Receives no more before an epoch has ended: offsets name all segments. */
  private val MostSegments = 4000

  /** In milliseconds. */
  private val LongestEnd = 30000L

  private def end(segments: Seq[Segment], row: Long): Long =
    segments.lastOption.fold(row)(last => math.max(last.until, row))

  /** Rows that an earlier feed has received after a position; None if there are none.
    *
    * @param received
    *   the content of its log
    */
  def ahead[P, C](
      positions: JournalPositions[P, C],
      codec: PositionCodec[P],
      start: P,
      received: Received): Option[Ahead[C]] = {
    val row = positions.rows(start)
    val needed = positions.needed(start)
    val from = end(needed, row)
    val more = received.segments.filter(_.from >= from)
    val known = received.segments.map(_.name).toSet
    val follows = more.headOption.exists(_.from == from) && needed.filter(_.until > row).forall(one => known(one.name))
    if (more.nonEmpty && !follows)
      log.warn(
        s"Rows that an earlier run received after row $row do not continue what Spark has logged, and are ignored.")
    Option.when(follows)(codec.fromJson(received.end).fold(throw _, identity)).map { end =>
      Ahead(needed ++ more, positions.cursor(end))
    }
  }
}
