package io.epochal.rest.http

import java.time.{Duration, Instant, LocalDate, LocalTime, OffsetDateTime, ZoneOffset}
import java.util.Locale
import java.util.concurrent.ThreadLocalRandom
import java.util.concurrent.TimeUnit.NANOSECONDS

import scala.collection.mutable
import scala.util.Try

/** The maximum rate and concurrency of a query's requests, for the driver and all tasks together, or a task's share of
  * it, which the driver grants with the task's partition. None: no limit.
  *
  * @param requestsPerSecond
  *   maximum request starts per second
  * @param maxConcurrency
  *   maximum concurrent requests
  */
final case class HttpBudget(requestsPerSecond: Option[Double], maxConcurrency: Option[Int]) {

  /** Maximum number of tasks that get a share: each needs at least one concurrent request. */
  def tasks(max: Int): Int = maxConcurrency.fold(max)(math.min(max, _))

  /** Shares that add up to the whole.
    *
    * @param tasks
    *   at most the result of [[tasks]]
    */
  def shares(tasks: Int): Seq[HttpBudget] = (0 until tasks).map { i =>
    HttpBudget(
      requestsPerSecond.map(_ / tasks),
      maxConcurrency.map(total => math.max(1, total / tasks + (if (i < total % tasks) 1 else 0))))
  }

  /** A share of it for another client of the same task, which adds nothing to the task's own. */
  def nothing: HttpBudget = HttpBudget(requestsPerSecond.map(_ => 0.0), maxConcurrency.map(_ => 0))

  /** The lower limits of both. */
  def and(other: HttpBudget): HttpBudget = HttpBudget(
    (requestsPerSecond ++ other.requestsPerSecond).minOption,
    (maxConcurrency ++ other.maxConcurrency).minOption)
}

object HttpBudget {
  val unlimited: HttpBudget = HttpBudget(None, None)
}

/** Limits the requests of a query, or of all queries of a `budgetName`, to one server. All tasks in a JVM share one gate.
  *
  *   - Concurrent requests never exceed the shares of the tasks that are open here, nor the budget.
  *   - Requests start evenly, at least 1/rate apart; unused slots are not saved up.
  *   - No request starts during a pause that the server has demanded. Afterwards the waiting requests resume at random
  *     moments.
  *
  * Not guaranteed: even spacing across executors. In any second there are at most as many requests as the budget allows,
  * plus one per executor.
  *
  * @param jitter
  *   a number in [0, 1)
  */
final private[http] class HttpGate(
    private var budget: HttpBudget,
    clock: HttpGate.Clock = new HttpGate.Clock,
    jitter: () => Double = () => ThreadLocalRandom.current().nextDouble()
) {
  private val shares = mutable.Buffer.empty[HttpBudget]
  private var running = 0
  private var nextStart = 0L
  private var pauseEnd = 0L
  private var spread = 0L
  private val unread = mutable.Set.empty[String]

  def open(share: HttpBudget): Unit = synchronized {
    shares += share
    notifyAll()
  }

  /** Lowers the limits to those of another query that shares them. */
  def limit(other: HttpBudget): Unit = synchronized { budget = budget.and(other) }

  def close(share: HttpBudget): Unit = synchronized {
    val _ = shares -= share
  }

  /** Waits until a request may start; [[leave]] must follow.
    *
    * @return
    *   the wait in milliseconds
    * @throws InterruptedException
    *   [[leave]] must not follow then
    */
  def enter(): Long = {
    val begin = clock.nanos()
    synchronized {
      while (running >= concurrency) wait()
      running += 1
    }
    try {
      var start = reserve()
      while (clock.nanos() < start) {
        clock.sleep(start - clock.nanos())
        if (synchronized(pauseEnd > start)) start = reserve()
      }
    } catch {
      case e: Throwable =>
        leave()
        throw e
    }
    NANOSECONDS.toMillis(clock.nanos() - begin)
  }

  def leave(): Unit = synchronized {
    running -= 1
    notifyAll()
  }

  /** Blocks new requests for a duration.
    *
    * @param over
    *   the time over which the waiting requests resume
    */
  def pause(length: Duration, over: Duration): Unit = synchronized {
    val end = clock.nanos() + length.toNanos
    if (end > pauseEnd) {
      pauseEnd = end
      spread = over.toNanos
    }
  }

  /** Whether this is the first time that a header of this name cannot be read. */
  def firstUnread(header: String): Boolean = synchronized(unread.add(header))

  /** Reserves the next moment at which a request may start. */
  private def reserve(): Long = synchronized {
    val now = clock.nanos()
    val free = if (pauseEnd > now) pauseEnd + (spread * jitter()).toLong else now
    val start = math.max(free, nextStart)
    interval.foreach(between => nextStart = start + between)
    start
  }

  private def concurrency: Int = sum(_.maxConcurrency.map(_.toDouble)).fold(Int.MaxValue)(_.toInt)

  private def interval: Option[Long] = sum(_.requestsPerSecond).map(rate => math.min(1e9 / rate, 1e18).toLong)

  /** The sum of the open shares, up to the whole budget. With no open share, the last request of a closed task gets the
    * whole budget.
    */
  private def sum(limit: HttpBudget => Option[Double]): Option[Double] = limit(budget).map { whole =>
    val granted = shares.iterator.flatMap(limit).sum
    if (granted > 0) math.min(whole, granted) else whole
  }
}

private[http] object HttpGate {

  /** A monotonic clock in nanoseconds, above 0. */
  class Clock {
    private val origin = System.nanoTime() - 1
    def nanos(): Long = System.nanoTime() - origin
    def sleep(nanos: Long): Unit = NANOSECONDS.sleep(nanos)
  }

  /** How long an unused gate is kept, so that rate and pauses carry over from batch to batch. */
  private val Kept = Duration.ofMinutes(10)

  final private val Capacity = 1024

  private[http] val all = new SharedValues[HttpGate](Capacity, _ => Kept)

  /** The gate of a query, or of a `budgetName`, and a server. */
  def open(query: String, server: String, budget: HttpBudget): Lease[HttpGate] = {
    val lease = all.open(Seq(Some(query), Some(server)))(new HttpGate(budget))
    lease.value.limit(budget)
    lease
  }
}

/** The pause that a response demands.
  *
  * @param length
  *   None: no pause is demanded, or its length cannot be read
  * @param unread
  *   names and values of headers that demand a pause and cannot be read
  */
final private[http] case class Pause(length: Option[Duration], unread: Seq[(String, String)] = Nil) {

  /** Both pauses: the longer one. */
  def and(other: Pause): Pause = Pause((length ++ other.length).maxOption, unread ++ other.unread)

  /** This pause, or `other` if this one has no known length. */
  def orElse(other: => Pause): Pause = if (length.isDefined) this else and(other)
}

/** Reads from response headers how long a server demands a pause, for every request: of the source, of the sink, and for
  * access tokens.
  *
  * A time is a number of seconds, with or without a fraction, or a date: of HTTP (RFC 9110, section 5.6.7, in its three
  * forms) or of ISO 8601. A number too large for a pause is a time in seconds or milliseconds since 1970. Zero, negative
  * numbers and dates in the past count as absent.
  */
private[http] object Throttle {
  private type Headers = String => Option[String]

  /** The pause after a response with this status.
    *
    *   - `Retry-After`, `Retry-After-Ms` and `X-Ms-Retry-After-Ms` of an unsuccessful response; of a 429 they alone count
    *   - the time until a rate limit resets, if the response reports that no requests remain, or is a 429 that does not say
    *     how many remain: `RateLimit` as in the drafts of the IETF's httpapi group (`"default";r=0;t=30`, and the older
    *     `limit=100, remaining=0, reset=30`), `RateLimit-Remaining` with `RateLimit-Reset-After` or `RateLimit-Reset`, and
    *     the same names with the prefix `X-`
    *
    * @param header
    *   looks up a header's value
    */
  def of(status: Int, header: Headers, now: Instant): Pause = {
    val retry = if (status < 300) Pause(None) else retryAfter(header, now)
    def reset =
      Prefixes
        .map(pair(_, header, now, refused = status == 429))
        .reduce(_ and _)
        .and(Pause(header("RateLimit").flatMap(policies)))
    if (status == 429) retry.orElse(reset) else retry.and(reset)
  }

  /** Whether a header of this name may be one of those that `of` reads: quick, as it is called for all headers. */
  def mayDemand(header: String): Boolean =
    Beginnings.exists(begin => header.regionMatches(true, 0, begin, 0, begin.length))

  /** Whether a response demands by `Retry-After`, or a header like it, that the request is repeated later. */
  def repeats(header: Headers): Boolean = RetryAfter.exists { case (name, _) => header(name).isDefined }

  private def retryAfter(header: Headers, now: Instant): Pause =
    RetryAfter.map { case (name, scale) => time(name, header, now, scale) }.reduce(_ and _)

  /** Names, and their unit in seconds. */
  private val RetryAfter = Seq("Retry-After" -> 1.0, "Retry-After-Ms" -> 1e-3, "X-Ms-Retry-After-Ms" -> 1e-3)

  private val Prefixes = Seq("RateLimit", "X-RateLimit", "X-Rate-Limit")

  /** Of all these names. */
  private val Beginnings = RetryAfter.map(_._1) ++ Prefixes

  private val Remaining = "(?:\\br|\\bremaining)\\s*=\\s*(\\d+)".r
  private val Reset = "(?:\\bt|\\breset)\\s*=\\s*(\\d+)".r

  /** The longest wait among exhausted policies. */
  private def policies(text: String): Option[Duration] = {
    val each = if (text.contains(';')) text.split(',').toSeq else Seq(text)
    each.flatMap { policy =>
      for {
        remaining <- Remaining.findFirstMatchIn(policy) if remaining.group(1).forall(_ == '0')
        reset <- Reset.findFirstMatchIn(policy)
        wait <- reset.group(1).toDoubleOption.map(seconds) if !wait.isZero
      } yield wait
    }.maxOption
  }

  private def pair(prefix: String, header: Headers, now: Instant, refused: Boolean): Pause = {
    val remaining = header(s"$prefix-Remaining").flatMap(_.trim.toDoubleOption)
    if (!remaining.fold(refused)(_ <= 0)) Pause(None)
    else time(s"$prefix-Reset-After", header, now).orElse(time(s"$prefix-Reset", header, now))
  }

  private def time(name: String, header: Headers, now: Instant, scale: Double = 1): Pause =
    header(name).map(_.trim).filter(_.nonEmpty).fold(Pause(None)) { text =>
      val until = text match {
        case Number() => Some(number(text.toDouble * scale, now))
        case _        => HttpDate.parse(text, now).map(Duration.between(now, _))
      }
      until.fold(Pause(None, Seq(name -> text)))(wait => Pause(Some(wait).filter(w => !w.isNegative && !w.isZero)))
    }

  private val Number = "[+-]?\\d{1,30}(?:\\.\\d{0,30})?".r

  /** A number of seconds; one that is too large for a pause is a time in seconds or milliseconds since 1970. */
  private def number(value: Double, now: Instant): Duration =
    if (value < 1e9) seconds(value)
    else seconds((if (value < 1e11) value else value / 1e3) - now.toEpochMilli / 1e3)

  private def seconds(value: Double): Duration = Duration.ofMillis((math.min(value, MaxSeconds) * 1e3).round)

  /** Longer than any query waits. */
  private val MaxSeconds = (1L << 31).toDouble
}

/** Dates in headers: IMF-fixdate, and the obsolete forms of RFC 850 and asctime (RFC 9110, section 5.6.7); also ISO 8601, in
  * UTC unless it has an offset.
  */
private[http] object HttpDate {
  private val Time = "(\\d{2}:\\d{2}:\\d{2})"
  private val Imf = s"[A-Za-z]+, (\\d{1,2}) ([A-Za-z]{3}) (\\d{4}) $Time (?:GMT|UTC|Z|[+-]0000)".r
  private val Rfc850 = s"[A-Za-z]+, (\\d{1,2})-([A-Za-z]{3})-(\\d{2}) $Time (?:GMT|UTC|Z|[+-]0000)".r
  private val Asctime = s"[A-Za-z]{3} ([A-Za-z]{3}) {1,2}(\\d{1,2}) $Time (\\d{4})".r
  private val Iso = s"(\\d{4}-\\d{2}-\\d{2})[Tt ]$Time([.]\\d{1,9})? ?(?:([+-]\\d{2}):?(\\d{2})|[Zz]|UTC|GMT)?".r
  private val Months =
    Seq("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

  /** @param now
    *   a year of two digits is at most 50 years after it
    * @return
    *   None: not a date
    */
  def parse(text: String, now: Instant): Option[Instant] = text.trim match {
    case Imf(day, month, year, time)     => at(year.toInt, month, day, time)
    case Asctime(month, day, time, year) => at(year.toInt, month, day, time)
    case Rfc850(day, month, year, time) =>
      val latest = now.atOffset(ZoneOffset.UTC).getYear + 50
      at(latest - Math.floorMod(latest - year.toInt, 100), month, day, time)
    case Iso(day, time, fraction, hours, minutes) =>
      val zone = if (hours == null) "Z" else s"$hours:$minutes"
      Try(OffsetDateTime.parse(s"${day}T$time${Option(fraction).getOrElse("")}$zone").toInstant).toOption
    case _ => None
  }

  private def at(year: Int, month: String, day: String, time: String): Option[Instant] = Try {
    LocalDate
      .of(year, Months.indexOf(month.toLowerCase(Locale.ROOT)) + 1, day.toInt)
      .atTime(LocalTime.parse(time))
      .toInstant(ZoneOffset.UTC)
  }.toOption
}
