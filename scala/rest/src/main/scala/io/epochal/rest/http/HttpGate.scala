package io.epochal.rest.http

import java.time.Duration
import java.util.concurrent.ThreadLocalRandom
import java.util.concurrent.TimeUnit.NANOSECONDS

import scala.collection.mutable

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
    val sumOfShares = shares.iterator.flatMap(limit).sum
    if (sumOfShares > 0) math.min(whole, sumOfShares) else whole
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
