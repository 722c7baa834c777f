package io.epochal.kit.source.journal

import java.time.Duration

import scala.util.Try
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.error.Conditions
import io.epochal.core.journal.Segment
import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.source.{PollBounds, PollBudget, PositionCodec}

/** What was received behind a position, though no offset says so.
  *
  * @param segments
  *   that the offsets after the position name
  * @param cursor
  *   where the origin is asked next
  */
final case class Ahead[C](segments: Seq[Segment], cursor: C)

/** Receives what an origin has, poll after poll, without being asked: for queries in which tasks read on while Spark asks the driver for
  * nothing. What a poll found is sealed, written to the [[FeedLog]], and only then visible to the tasks.
  *
  * Each poll that found rows gives a segment. Small ones that no offset names are put together, so that offsets stay short.
  *
  * A failure ends it, and is thrown to every reader that waits for more.
  *
  * @param ahead
  *   what is there behind `start` already
  * @param receive
  *   asks the origin once, from where a tail ends on
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

  /** What the log may say by now. */
  private var announced = segments -> cursor
  private var failure = Option.empty[Throwable]

  /** Whether anything was heard of the origin behind `start`. */
  private var asked = ahead.nonEmpty

  /** Segments that begin before this row may be named by an offset that Spark has logged. */
  private var namedFrom = JournalFeed.end(positions.needed(start), positions.rows(start))
  private var closed = false
  private val budget = new PollBudget(JournalFeed.Bounds)
  private val thread = new DaemonThreads("epochal-feed").newThread(() => run())

  /** The row behind the last one that a run before this one may have delivered. */
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
    *   the segments behind it; none where there is no such row yet
    * @throws Throwable
    *   what ended the feed, where there is no such row and never will be
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

  /** The position at a row that a task has read, to be logged. It names all that was received behind `base`, and what follows that. A
    * task in another process may know a row a moment before it is there.
    *
    * @throws Throwable
    *   what ended the feed
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

  /** @throws Throwable
    *   what ended the feed
    */
  def check(): Unit = synchronized(failure.foreach(throw _))

  /** Whether the query can go on from a position with this feed. */
  def holds(position: P): Boolean = synchronized {
    val row = positions.rows(position)
    failure.isEmpty && row >= positions.rows(base) && row <= last
  }

  /** Says that an epoch has ended at a position: segments that lie before it are not named any more. */
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
    // It may wait for the origin, or for the store, and be interrupted there; its files are its own.
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
          JournalFeed.log.warn(s"Nothing more is received: $error")
          // Tasks in other processes learn it from there.
          val (known, next) = synchronized(announced)
          Try(announce(known, next, Some(String.valueOf(error.getMessage)))): Unit
        }
        if (!NonFatal(error) && !error.isInstanceOf[InterruptedException]) throw error
    }

  private def fail(error: Throwable): Unit = synchronized {
    failure = failure.orElse(Some(error))
    notifyAll()
  }

  /** @return
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
          asked = true
        }
      left
    } finally tail.discard()
  }

  /** What was received is there for the tasks from now on. */
  private def add(end: P): Unit = {
    val found = positions.segments(end).getOrElse(Nil).filter(_.from >= last)
    val next = positions.cursor(end)
    announce(synchronized(segments) ++ found, next)
    synchronized {
      segments = segments ++ found
      cursor = next
      asked = true
      last = JournalFeed.end(segments, last)
      notifyAll()
    }
    join()
  }

  /** Puts the last segments together while they are many and small. Who has planned the old ones finds their files for three epochs. */
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

  /** What `start` names is there before the first poll has ended. */
  private def at(row: Long): P = synchronized {
    if (asked || row > positions.rows(base)) positions.after(base, row - positions.rows(base), segments, cursor)
    else base
  }

  /** Writes into the log; throws where another run has taken over, and nothing of it may be delivered. */
  private def announce(segments: Seq[Segment], cursor: C, failure: Option[String] = None): Unit = {
    val end = JournalFeed.end(segments, positions.rows(base))
    val position = synchronized {
      // Also where it fails: the file may be there, and tasks in other processes may have read it.
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

  /** Of a poll: what comes in a long list is there for the tasks while it is read. */
  private val Bounds = PollBounds(Duration.ofMillis(100), 16L << 20)
  private val Rows = 10000L

  private val Joined = 32
  private val SmallBytes = 2L << 20

  /** More are not received before an epoch has ended: offsets name them all. */
  private val MostSegments = 4000

  /** In milliseconds. */
  private val LongestEnd = 30000L

  private def end(segments: Seq[Segment], row: Long): Long =
    segments.lastOption.fold(row)(last => math.max(last.until, row))

  /** What an earlier feed has received behind a position; None where it has nothing there.
    *
    * @param received
    *   what its log says
    */
  def ahead[P, C](
      positions: JournalPositions[P, C],
      codec: PositionCodec[P],
      start: P,
      received: Received): Option[Ahead[C]] = {
    val row = positions.rows(start)
    val named = positions.needed(start)
    val from = end(named, row)
    val more = received.segments.filter(_.from >= from)
    val known = received.segments.map(_.name).toSet
    val follows = more.headOption.exists(_.from == from) && named.filter(_.until > row).forall(one => known(one.name))
    if (more.nonEmpty && !follows)
      log.warn(s"What an earlier run received behind row $row does not follow what Spark has logged, and is left out.")
    Option.when(follows)(codec.fromJson(received.end).fold(throw _, identity)).map { end =>
      Ahead(named ++ more, positions.cursor(end))
    }
  }
}
