package io.epochal.kit.source.journal

import java.time.Duration

import scala.util.Try
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.error.Conditions
import io.epochal.core.journal.{JournalPlan, Segment}
import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.source.{PollBounds, PollBudget, PositionCodec}

/** Polls an origin in a thread of its own and journals its rows, for continuous and real-time queries, in which a task
  * keeps reading while Spark calls nothing on the driver.
  *
  * The rows of a poll are visible to tasks only after their segment was sealed and the [[FeedLog]] names it. Each poll
  * with rows creates a segment. Small segments that no offset can name yet are merged, so that offsets stay short.
  *
  * While `Feeding.maxBytes` of rows wait for a task, nothing is polled: a task that stands still does not fill the disk. Rows wait
  * until a task of this JVM has read the rows before them, or, for tasks in other processes, until an epoch ends after them.
  *
  * A failure ends the feed: it is thrown to every reader that has no rows left, and by `end` and `check`. Any thread
  * may call the public methods.
  *
  * @param start
  *   the position from which the query reads
  * @param ahead
  *   rows that an earlier feed has received after `start`
  * @param receive
  *   polls the origin once: adds at most so many rows to the tail, and returns whether the budget ended the poll
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

  // `start`, then the end of the last committed epoch. Positions are counted from it, and name no segments before it.
  private var base = start
  private var segments = ahead.fold(positions.needed(start))(_.segments)
  private var cursor = ahead.fold(positions.cursor(start))(_.cursor)
  // The row after the last one that is visible to tasks.
  private var last = JournalFeed.end(segments, positions.rows(start))
  // Rows before it have been read.
  private var read = positions.rows(start)

  /** The segments and the cursor of the last write to the log, whether it succeeded or not. */
  private var announcement = segments -> cursor
  private var failure = Option.empty[Throwable]

  /** Whether the cursor may differ from that of `start`. */
  private var isPolled = ahead.nonEmpty

  /** Segments that begin before this row may be named by an offset that Spark has logged, and are not merged. */
  private var namedFrom = JournalFeed.end(positions.needed(start), positions.rows(start))
  private var closed = false
  private var wasFull = false
  private val budget = new PollBudget(JournalFeed.Bounds)
  private val thread = new DaemonThreads("epochal-feed").newThread(() => run())

  /** The row after the last one that an earlier run has received, and may have delivered. */
  val begun: Long = last

  def begin(): Unit = {
    announce(segments, cursor)
    thread.start()
  }

  /** Plans a part of the rows, so that the feed notices how far the task has read. */
  override def await(row: Long, millis: Long): Option[JournalPlan] = {
    val found = received(row, millis)
    val sizes = found.scanLeft(0L)(_ + _.bytes)
    val part = found.zip(sizes).takeWhile(_._2 < math.max(1L, feeding.maxBytes / JournalFeed.Parts)).map(_._1)
    FeedView.plan(journal.store, journal.source, part, row)
  }

  /** Waits at most `millis` until there is a row at `row`.
    *
    * @return
    *   the segments from there on; empty if there is no such row yet
    * @throws Throwable
    *   the failure that ended the feed, if there will never be such a row
    */
  private def received(row: Long, millis: Long): Seq[Segment] = synchronized {
    readUntil(row)
    val end = System.nanoTime() + millis * 1000000L
    var left = millis
    while (last <= row && failure.isEmpty && left > 0) {
      wait(left)
      left = (end - System.nanoTime() + 999999L) / 1000000L
    }
    if (last <= row) failure.foreach(throw _)
    segments.filter(_.until > row)
  }

  /** The position at a row up to which a task has read, to be logged by Spark. It names all segments since the last
    * committed epoch, also those after the row.
    *
    * Waits if the feed has not reached the row: a task in another process reads the log, and may see rows before this
    * feed has returned from writing it.
    *
    * @throws Throwable
    *   the failure that ended the feed, such as JOURNAL_FENCED
    */
  def end(row: Long): P = {
    if (!feeding.log.isOwn) fail(fenceError)
    synchronized {
      while (last < row && failure.isEmpty) wait()
      check()
      namedFrom = last
      readUntil(row)
      at(row)
    }
  }

  /** Fails if the feed has ended.
    *
    * @throws Throwable
    *   the failure that ended it
    */
  def check(): Unit = synchronized(failure.foreach(throw _))

  /** Whether this feed can continue from a position: it has not failed, and the position is not before the last
    * committed epoch or after the last received row.
    */
  def holds(position: P): Boolean = synchronized {
    val row = positions.rows(position)
    failure.isEmpty && row >= positions.rows(base) && row <= last
  }

  /** Reports that an epoch was committed at a position: later offsets do not name the segments before it. A position
    * that the feed does not hold is ignored.
    */
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
    // The interrupt ends a wait for the origin or the store. A thread that outlasts this wait cannot disturb the
    // segments of the next feed: their names are unique.
    thread.join(JournalFeed.LongestEnd)
  }

  private def run(): Unit =
    try
      while (!synchronized(closed)) {
        makeRoom()
        val left = poll()
        if (!left) rest()
      }
    catch {
      case error: Throwable =>
        val isOver = synchronized(closed)
        val isFatal = !NonFatal(error) && !error.isInstanceOf[InterruptedException]
        fail(
          if (isFatal)
            Conditions.FeedFailed.because(error)("source" -> journal.source, "reason" -> error.toString)
          else error)
        if (!isOver) {
          JournalFeed.log.warn(s"The feed has stopped receiving: $error")
          // Tasks in other processes read the failure from the log.
          val (known, next) = synchronized(announcement)
          Try(announce(known, next, Some(String.valueOf(error.getMessage)))): Unit
        }
        if (isFatal) throw error
    }

  /** Notes that the rows before `row` have been read. */
  private def readUntil(row: Long): Unit = if (row > read) {
    // The feed's thread waits for nothing else then: a pause between two polls is not cut short.
    val wasFull = isFull
    read = row
    if (wasFull) notifyAll()
  }

  private def isFull: Boolean = segments.filter(_.until > read).map(_.bytes).sum >= feeding.maxBytes

  /** Waits until fewer than `maxBytes` wait. */
  private def makeRoom(): Unit = synchronized {
    if (isFull && !wasFull) {
      wasFull = true
      JournalFeed.log.info(s"${journal.source} is not polled while ${feeding.maxBytes} bytes wait in ${journal.store}")
    }
    while (!closed && isFull) wait()
  }

  private def fail(error: Throwable): Unit = synchronized {
    failure = failure.orElse(Some(error))
    notifyAll()
  }

  /** Polls the origin once, unless there are `MostSegments`.
    *
    * @return
    *   whether to poll again without a pause
    */
  private def poll(): Boolean = synchronized(segments.size) < JournalFeed.MostSegments && {
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

  /** Makes received rows visible to the tasks.
    *
    * @param end
    *   the position after them
    */
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

  /** Merges the last segments, as long as the last `Joined` of them are small. The old files stay for
    * [[io.epochal.core.journal.Journal.Kept]] epochs, for readers that have planned them.
    */
  @scala.annotation.tailrec
  private def join(): Unit = {
    val small = synchronized(segments.filter(_.from >= namedFrom).takeRight(JournalFeed.Joined))
    if (small.size == JournalFeed.Joined && small.forall(_.bytes < JournalFeed.SmallBytes)) {
      val isOld = small.map(_.name).toSet
      val isReplaced = journal.joined(small).exists { one =>
        synchronized {
          // An offset may name them by now.
          val free = small.head.from >= namedFrom
          if (free) segments = segments.filterNot(segment => isOld(segment.name)) :+ one
          free
        }
      }
      if (isReplaced) {
        announce(synchronized(segments), cursor)
        join()
      }
    }
  }

  /** The position at a row. Before the first poll has ended, that is `base` itself, or, since tasks can read the
    * segments that `start` names already, a row after it.
    */
  private def at(row: Long): P = synchronized {
    if (isPolled || row > positions.rows(base)) positions.after(base, row - positions.rows(base), segments, cursor)
    else base
  }

  /** Writes the log. Rows that it did not name before may be delivered only after this returns.
    *
    * @throws io.epochal.core.error.EpochalException
    *   JOURNAL_FENCED, if another run has taken over; JOURNAL_UNWRITABLE
    */
  private def announce(segments: Seq[Segment], cursor: C, failure: Option[String] = None): Unit = {
    val end = JournalFeed.end(segments, positions.rows(base))
    val position = synchronized {
      // Set even if the write fails: the file may exist, and tasks in other processes may have read it.
      announcement = segments -> cursor
      positions.after(base, end - positions.rows(base), Nil, cursor)
    }
    val received = Received(segments, feeding.codec.toJson(position), failure)
    if (!journal.writing(feeding.log.write(received))) throw fenceError
  }

  private def rest(): Unit = synchronized {
    if (!closed) wait(math.max(1L, feeding.pause.toMillis))
  }

  private def fenceError = Conditions.JournalFenced("source" -> journal.source, "path" -> journal.store)
}

private[journal] object JournalFeed {
  private val log = LoggerFactory.getLogger(classOf[JournalFeed[_, _]])

  /** The bounds of a poll: short, so that the rows of a long list become visible while the rest is received. */
  private val Bounds = PollBounds(Duration.ofMillis(100), 16L << 20)
  // Maximum rows of a poll.
  private val Rows = 10000L

  // So many consecutive segments are merged, if each has fewer bytes than SmallBytes.
  private val Joined = 32
  private val SmallBytes = 2L << 20

  /** A task plans such a part of `maxBytes` at a time. */
  private val Parts = 8

  /** With so many segments, polls pause until an epoch is committed, because each offset names all of them. */
  private val MostSegments = 4000

  /** Maximum wait for the end of the thread, in milliseconds. */
  private val LongestEnd = 30000L

  private def end(segments: Seq[Segment], row: Long): Long =
    segments.lastOption.fold(row)(last => math.max(last.until, row))

  /** Rows that an earlier feed has received after a position. None if there are none, or if they do not continue the
    * position: a gap in the rows, or unread segments of the position that the log does not have.
    *
    * @param received
    *   the content of the earlier feed's log
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
