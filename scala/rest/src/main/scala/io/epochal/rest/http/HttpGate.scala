package io.epochal.rest.http

import java.time.{Duration, Instant}
import java.util.concurrent.ThreadLocalRandom
import java.util.concurrent.TimeUnit.NANOSECONDS

import scala.collection.mutable

import org.apache.hc.client5.http.utils.DateUtils

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
}

object HttpBudget {
  val unlimited: HttpBudget = HttpBudget(None, None)
}

/** Limits the requests of a query to one server. All tasks in a JVM share one gate.
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
    budget: HttpBudget,
    clock: HttpGate.Clock = new HttpGate.Clock,
    jitter: () => Double = () => ThreadLocalRandom.current().nextDouble()
) {
  private val shares = mutable.Buffer.empty[HttpBudget]
  private var running = 0
  private var nextStart = 0L
  private var pauseEnd = 0L
  private var spread = 0L

  def open(share: HttpBudget): Unit = synchronized {
    shares += share
    notifyAll()
  }

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

  /** The gate of a query and a server. */
  def open(query: String, server: String, budget: HttpBudget): Lease[HttpGate] =
    all.open(Seq(Some(query), Some(server)))(new HttpGate(budget))
}

/** Reads from response headers how long a server demands a pause. */
private[http] object Throttle {

  /** Retry-After (RFC 9110): seconds or a date. Zero and dates in the past count as absent. */
  def retryAfter(text: String, now: Instant): Option[Duration] =
    seconds(text)
      .orElse(Option(DateUtils.parseStandardDate(text.trim)).map(Duration.between(now, _)))
      .filter(wait => !wait.isNegative && !wait.isZero)

  /** The time until the rate limit resets, if the server reports that no requests remain.
    *
    * Understood: `RateLimit` as in the drafts of the IETF's httpapi group (`"default";r=0;t=30`, and the older
    * `limit=100, remaining=0, reset=30`), `RateLimit-Remaining` with `RateLimit-Reset`, and the same names with the
    * prefix `X-`, whose reset may also be a timestamp in seconds or milliseconds since 1970.
    *
    * @param header
    *   looks up a header's value
    */
  def exhausted(header: String => Option[String], now: Instant): Option[Duration] =
    (header("RateLimit").flatMap(policies) ++ Pairs.flatMap(pair(_, header, now))).maxOption

  /** Header names: remaining requests, and time of reset. */
  private val Pairs =
    Seq("RateLimit", "X-RateLimit", "X-Rate-Limit").map(name => (s"$name-Remaining", s"$name-Reset"))

  private val Remaining = "(?:\\br|\\bremaining)\\s*=\\s*(\\d+)".r
  private val Reset = "(?:\\bt|\\breset)\\s*=\\s*(\\d+)".r

  /** The longest wait among exhausted policies. */
  private def policies(text: String): Option[Duration] = {
    val each = if (text.contains(';')) text.split(',').toSeq else Seq(text)
    each.flatMap { policy =>
      for {
        remaining <- Remaining.findFirstMatchIn(policy) if remaining.group(1).forall(_ == '0')
        reset <- Reset.findFirstMatchIn(policy)
        wait <- seconds(reset.group(1)) if !wait.isZero
      } yield wait
    }.maxOption
  }

  private def pair(names: (String, String), header: String => Option[String], now: Instant): Option[Duration] =
    for {
      remaining <- header(names._1) if remaining.trim.toDoubleOption.exists(_ <= 0)
      reset <- header(names._2).flatMap(_.trim.toDoubleOption)
      wait = until(reset, now) if !wait.isNegative && !wait.isZero
    } yield wait

  /** A number too large for a duration is a timestamp: seconds or milliseconds since 1970. */
  private def until(reset: Double, now: Instant): Duration = {
    val millis =
      if (reset < 1e9) reset * 1e3
      else if (reset < 1e11) reset * 1e3 - now.toEpochMilli.toDouble
      else reset - now.toEpochMilli.toDouble
    Duration.ofMillis(math.min(millis, MaxSeconds * 1e3).toLong)
  }

  private def seconds(text: String): Option[Duration] =
    text.trim.toLongOption.map(n => Duration.ofSeconds(math.min(n, MaxSeconds)))

  /** Longer than any query waits. */
  private val MaxSeconds = 1L << 31
}
