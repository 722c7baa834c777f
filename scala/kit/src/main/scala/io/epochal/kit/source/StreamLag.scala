package io.epochal.kit.source

import java.time.{Clock, Duration, Instant}

/** How far a stream has come, and how far it is behind the end. The query's thread writes it, any thread reads it. */
final private[source] class StreamLag[P](supply: Supply[P], clock: Clock) {
  @volatile private var lastPoll = clock.instant()
  @volatile private var lastAtEnd = Option.empty[Instant]

  /** Before the position from which the last poll went on, or which was delivered since. */
  @volatile private var rowsBefore = Option.empty[Long]
  @volatile private var total = 0L
  private var counted = Option.empty[P]

  /** A batch of this run begins after `start`; the first one may be a replay. */
  def begin(start: P): Unit = if (counted.isEmpty) counted = Some(start)

  /** A poll for rows after `start` has ended. */
  def polled(start: P, now: Instant): Unit = {
    val rows = supply.rowsBefore(start)
    rowsBefore = Some(rows)
    lastPoll = now
    if (supply.known.exists(extent => extent.exact && extent.ends <= rows)) lastAtEnd = Some(now)
  }

  /** All rows before a position were delivered. */
  def reached(end: P): Unit = {
    val rows = supply.rowsBefore(end)
    rowsBefore = Some(rows)
    counted.foreach(from => total += math.max(0L, rows - supply.rowsBefore(from)))
    counted = Some(end)
  }

  /** Rows that batches of this run have delivered. */
  def totalRows: Long = total

  def secondsSincePoll: Double = Duration.between(lastPoll, clock.instant()).toMillis / 1000.0

  /** None before the first poll. */
  def now: Option[Lag] = rowsBefore.flatMap(at)

  private def at(rows: Long): Option[Lag] = supply.known.map { extent =>
    val behind = math.max(0L, extent.exists - rows)
    val seconds =
      if (extent.exact && behind == 0) Some(0L)
      else lastAtEnd.map(Duration.between(_, clock.instant()).toSeconds)
    Lag(Option.when(extent.exact || behind > 0)(behind), extent.exact, seconds)
  }
}

/** @param rows
  *   up to the last row that was seen; None: not one is known
  * @param exact
  *   whether that row is the last one
  * @param seconds
  *   since this run last stood at the end: an upper bound; None: it never did
  */
final private[source] case class Lag(rows: Option[Long], exact: Boolean, seconds: Option[Long])
