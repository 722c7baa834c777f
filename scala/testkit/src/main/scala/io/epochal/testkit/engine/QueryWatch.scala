package io.epochal.testkit.engine

import scala.util.Try

import org.apache.spark.sql.streaming.StreamingQuery

import io.epochal.testkit.report.Evidence

/** Waits for conditions of queries, with a deadline. */
private[testkit] object QueryWatch {

  /** Default deadline. A condition that does not hold by then counts as failed. */
  val DeadlineSeconds: Long = 90
  private val QuietMillis = 4000L
  private val PauseMillis = 20L

  /** Waits until the condition holds or the deadline passes; returns whether it holds. */
  def until(seconds: Long = DeadlineSeconds, pauseMillis: Long = PauseMillis)(condition: => Boolean): Boolean = {
    val deadline = System.nanoTime() + seconds * 1000000000L
    var holds = condition
    while (!holds && System.nanoTime() < deadline) {
      if (pauseMillis > 0) Thread.sleep(pauseMillis)
      holds = condition
    }
    holds
  }

  /** Waits until `done`, the query's end, the deadline, or until the query has waited for data for some seconds.
    *
    * @return
    *   the final value of `done`
    */
  def run(query: StreamingQuery)(done: => Boolean): Boolean = {
    var idleSince = Option.empty[Long]
    val _ = until() {
      val idle = query.lastProgress != null && query.status.message.startsWith("Waiting for data")
      val now = System.currentTimeMillis()
      idleSince = if (idle) idleSince.orElse(Some(now)) else None
      done || !query.isActive || idleSince.exists(now - _ > QuietMillis)
    }
    assertNoError(query)
    done
  }

  def assertNoError(query: StreamingQuery): Unit =
    if (query.exception.isDefined) {
      val error = query.exception.get
      Evidence.broken(s"the query failed: ${Evidence.text(error)}", error)
    }

  /** Stops the query and ignores errors. */
  def stop(query: StreamingQuery): Unit = { val _ = Try(query.stop()) }
}
