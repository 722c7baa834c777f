package io.epochal.rest.http

import java.time.Duration
import java.util.concurrent.ThreadLocalRandom
import java.util.concurrent.TimeUnit.NANOSECONDS

import scala.collection.mutable

import io.epochal.rest.http.request.{Lease, SharedValues}

/** The maximum rate and concurrency of a query's requests, for the driver and all tasks together. None: no limit.
  *
  * @param requestsPerSecond
  *   requests that may start in a second
  * @param maxConcurrency
  *   requests that may be under way at the same time
  */
final case class HttpBudget(requestsPerSecond: Option[Double], maxConcurrency: Option[Int]) {

  /** How many of these tasks can have a share: each needs a request of its own. */
  def tasks(wanted: Int): Int = maxConcurrency.fold(wanted)(math.min(wanted, _))

  /** The driver's share: it makes requests while no task does. */
  def whole: HttpShare = HttpShare(requestsPerSecond, maxConcurrency)

  /** Shares that add up to the whole.
    *
    * @param tasks
    *   no more than [[tasks]] gives
    */
  def shares(tasks: Int): Seq[HttpShare] = (0 until tasks).map { i =>
    HttpShare(
      requestsPerSecond.map(_ / tasks),
      maxConcurrency.map(most => math.max(1, most / tasks + (if (i < most % tasks) 1 else 0))))
  }
}

object HttpBudget {
  val unlimited: HttpBudget = HttpBudget(None, None)
}

/** A task's part of the query's budget; the driver grants it with the task's partition. */
final case class HttpShare(requestsPerSecond: Option[Double], concurrency: Option[Int])

/** What all requests of a query to one server pass, in one JVM: there is one gate for all its tasks.
  *
  *   - No more requests are under way than the shares of the tasks that are open here allow, and never more than the budget.
  *   - They start evenly: each at least 1/rate after the one before, with nothing saved up while nobody asks.
  *   - During a pause that the server has requested none starts. After it they come back one by one, each at a moment of its own.
  *
  * Not guaranteed: that executors' requests are even among themselves. In any second there are at most as many as the
  * budget says, and one more for each executor.
  *
  * @param jitter
  *   a number in [0, 1)
  */
final private[http] class HttpGate(
    budget: HttpBudget,
    clock: HttpGate.Clock = HttpGate.SystemClock,
    jitter: () => Double = () => ThreadLocalRandom.current().nextDouble()
) {
  private val shares = mutable.Buffer.empty[HttpShare]
  private var running = 0
  private var nextStart = 0L
  private var pauseEnd = 0L
  private var spread = 0L

  def open(share: HttpShare): Unit = synchronized {
    shares += share
    notifyAll()
  }

  def close(share: HttpShare): Unit = synchronized {
    val _ = shares -= share
  }

  /** Waits until a request may start; [[leave]] must follow.
    *
    * @return
    *   how long it took, in milliseconds
    * @throws InterruptedException
    *   and then nothing must follow
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
        if (isPausedAt(start)) start = reserve()
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

  /** Lets no request start for so long.
    *
    * @param over
    *   the time over which those that waited come back
    */
  def pause(length: Duration, over: Duration): Unit = synchronized {
    val end = clock.nanos() + length.toNanos
    if (end > pauseEnd) {
      pauseEnd = end
      spread = over.toNanos
    }
  }

  /** Takes the next moment at which a request may start. */
  private def reserve(): Long = synchronized {
    val now = clock.nanos()
    val free = if (pauseEnd > now) pauseEnd + (spread * jitter()).toLong else now
    val start = math.max(free, nextStart)
    interval.foreach(between => nextStart = start + between)
    start
  }

  private def isPausedAt(moment: Long): Boolean = synchronized(pauseEnd > moment)

  private def concurrency: Int = sum(budget.maxConcurrency)(_.concurrency.map(_.toDouble)).fold(Int.MaxValue)(_.toInt)

  private def interval: Option[Long] =
    sum(budget.requestsPerSecond)(_.requestsPerSecond).map(rate => math.min(1e9 / rate, 1e18).toLong)

  /** What the open shares come to, up to the whole budget. A gate without any is the last request of one that was closed. */
  private def sum[A](whole: Option[A])(part: HttpShare => Option[Double])(implicit n: Numeric[A]): Option[Double] =
    whole.map { limit =>
      val granted = shares.iterator.flatMap(part).sum
      if (granted > 0) math.min(n.toDouble(limit), granted) else n.toDouble(limit)
    }
}

private[http] object HttpGate {

  /** Nanoseconds from some moment on, above 0. */
  trait Clock {
    def nanos(): Long
    def sleep(nanos: Long): Unit
  }

  object SystemClock extends Clock {
    private val origin = System.nanoTime() - 1
    override def nanos(): Long = System.nanoTime() - origin
    override def sleep(nanos: Long): Unit = NANOSECONDS.sleep(nanos)
  }

  /** A gate that nobody uses is kept for so long: it keeps its pace and its pause from batch to batch. */
  private val Kept = Duration.ofMinutes(10)

  final private val Capacity = 1024

  private[http] val all = new SharedValues[HttpGate](Capacity, _ => Kept)

  /** The gate of a query and a server. */
  def open(query: String, server: String, budget: HttpBudget): Lease[HttpGate] =
    all.open(Seq(Some(query), Some(server)))(new HttpGate(budget))
}
