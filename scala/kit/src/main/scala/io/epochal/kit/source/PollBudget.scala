package io.epochal.kit.source

import java.time.Duration
import java.util.concurrent.{ScheduledThreadPoolExecutor, TimeUnit}

import org.slf4j.LoggerFactory

import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.spark.RunningQuery

/** The limits of a poll: its duration, and the bytes of records. The page that exceeds a limit is received completely. */
final case class PollBounds(time: Duration, bytes: Long)

/** The remaining limits of one poll (S13). Threads may share it.
  *
  * @param nanos
  *   a clock
  */
final class PollBudget(bounds: PollBounds, nanos: () => Long = () => System.nanoTime()) {
  private var begun = nanos()
  private var left = bounds.bytes

  /** Begins a poll. */
  def begin(): Unit = synchronized {
    begun = nanos()
    left = bounds.bytes
  }

  def spend(bytes: Long): Unit = synchronized(left -= bytes)

  def spent: Boolean = synchronized {
    left <= 0 || Duration.ofNanos(nanos() - begun).compareTo(bounds.time) >= 0
  }
}

/** The budgets of one stream.
  *
  * @param poll
  *   of the poll that Spark waits for
  * @param ahead
  *   of the receive while a batch runs
  */
final class PollBudgets(bounds: PollBounds, nanos: () => Long = () => System.nanoTime()) {
  val poll = new PollBudget(bounds, nanos)
  val ahead = new PollBudget(bounds, nanos)
}

object PollBudgets {

  /** For a stream whose polls only look for the end. */
  val Unbounded = new PollBudgets(PollBounds(Duration.ofSeconds(Long.MaxValue), Long.MaxValue))
}

/** Reports what a running poll has received: every second in the message of the query's `status`, every half minute in the log.
  *
  * A poll may take minutes, and a query has no progress before the end of its first batch. Until then `status` is all that a
  * client sees, on Spark Connect too.
  */
private[source] object PollReport {
  private val log = LoggerFactory.getLogger("io.epochal.kit.source.PollReport")
  private val SecondsPerLine = 30L

  private lazy val timer = {
    val one = new ScheduledThreadPoolExecutor(1, new DaemonThreads("epochal-poll-report"))
    one.setRemoveOnCancelPolicy(true)
    one
  }

  /** Runs a poll, with reports if the source counts what it receives. */
  def during[A](source: Source[_])(poll: => A): A = source.received.fold(poll) { _ =>
    val report = new PollReport(source, RunningQuery.messageOfThisThread())
    val task = timer.scheduleAtFixedRate(() => report.say(), 1, 1, TimeUnit.SECONDS)
    try poll
    finally {
      task.cancel(false)
      report.end()
    }
  }
}

/** Reports one poll.
  *
  * @param message
  *   sets the message of the query
  */
final private class PollReport(source: Source[_], message: String => Unit) {
  import PollReport._

  private var seconds = 0L
  private var ended = false

  def say(): Unit = synchronized {
    seconds += 1
    source.received.filterNot(_ => ended).foreach { received =>
      message(s"Getting offsets from ${source.name}: $received so far, $seconds s")
      if (seconds % SecondsPerLine == 0) log.info(s"${source.name} has been polled for $seconds s: $received so far")
    }
  }

  /** Spark sets the query's message from here on. */
  def end(): Unit = synchronized {
    ended = true
  }
}
