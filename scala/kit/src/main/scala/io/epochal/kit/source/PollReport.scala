package io.epochal.kit.source

import java.util.concurrent.{ScheduledThreadPoolExecutor, TimeUnit}

import org.slf4j.LoggerFactory

import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.spark.RunningQuery

/** Says what a poll has received while it runs: every second in the message of its query's `status`, every half minute in the log.
  *
  * A poll may take minutes, and a query has no progress before the end of its first batch. `status` is all that a client sees
  * until then, on Spark Connect too.
  */
private[source] object PollReport {
  private val log = LoggerFactory.getLogger("io.epochal.kit.source.PollReport")
  private val SecondsPerLine = 30L

  private lazy val timer = {
    val one = new ScheduledThreadPoolExecutor(1, new DaemonThreads("epochal-poll-report"))
    one.setRemoveOnCancelPolicy(true)
    one
  }

  /** Runs a poll of a source that counts what it receives with reports, any other one without. */
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

/** @param message
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
      if (seconds % SecondsPerLine == 0) log.info(s"${source.name} is polled since $seconds s: $received so far")
    }
  }

  /** Spark says from here on what the query is doing. */
  def end(): Unit = synchronized {
    ended = true
  }
}
