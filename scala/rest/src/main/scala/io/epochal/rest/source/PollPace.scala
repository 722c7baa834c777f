package io.epochal.rest.source

import java.time.{Clock, Duration, Instant}

import io.epochal.kit.source.Extent

/** Delays polls for new records until some time after the start of the poll that found the end; until then only known
  * records are delivered.
  *
  * @param interval
  *   that time. None: a second, doubled up to half a minute by each poll that is charged and finds no new record
  * @param chargedRequests
  *   the number of responses that an API counts against its limits: all but 304
  */
final private[rest] class PollPace(interval: Option[Duration], clock: Clock, chargedRequests: () => Long) {

  /** Start of the poll that found the end; None while the end is unknown. */
  private var endSeen = Option.empty[Instant]
  private var rest = interval.getOrElse(PollOptions.LeastInterval)

  /** Number of records that were known after the last poll. */
  private var records = Option.empty[Long]

  /** Polls for at most `most` records after `start`.
    *
    * @param knownExtent
    *   the extent found by polls
    * @param poll
    *   gets the maximum
    */
  def apply[A](knownExtent: => Option[Extent], start: Long, most: Long)(poll: Long => A): A = {
    val now = clock.instant()
    val toEnd = knownExtent.filter(_.exact).map(extent => math.max(0L, extent.exists - start))
    val resting = endSeen.exists(end => !now.isBefore(end) && now.isBefore(end.plus(rest)))
    val before = chargedRequests()
    val result = poll(toEnd.filter(_ => resting).fold(most)(math.min(most, _)))
    // A known end that no poll has seen here was found by reading ahead, while a batch ran.
    if (!resting && (toEnd.forall(_ < most) || endSeen.isEmpty)) {
      endSeen = Option.when(knownExtent.exists(_.exact))(now)
      val total = knownExtent.map(_.exists)
      val idle = total == records && chargedRequests() > before
      records = total
      rest = PollPace.pause(interval, rest, idle)
    }
    result
  }
}

private[rest] object PollPace {
  private val Most = Duration.ofSeconds(30)

  /** The pause after a poll.
    *
    * @param interval
    *   the one that is set
    * @param before
    *   the pause before the poll
    * @param isIdle
    *   whether it has found no new record
    */
  def pause(interval: Option[Duration], before: Duration, isIdle: Boolean): Duration =
    interval.getOrElse(Seq(Seq(PollOptions.LeastInterval, before.multipliedBy(if (isIdle) 2 else 0)).max, Most).min)
}
