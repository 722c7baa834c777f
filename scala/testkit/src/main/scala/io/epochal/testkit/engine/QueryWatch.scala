package io.epochal.testkit.engine

import scala.util.Try

import org.apache.spark.sql.streaming.StreamingQuery

import io.epochal.testkit.report.Evidence

/** Waits for conditions of queries, with a deadline. */
private[testkit] object QueryWatch {

  /** Default deadline. A condition that does not hold by then counts as failed. */
  val DeadlineSeconds: Long = 90
  private val QuietMillis = 4000L

  /** Waits until the condition holds or the time has passed; returns whether it holds. */
  def until(millis: Long = DeadlineSeconds * 1000, pauseMillis: Long = 20)(condition: => Boolean): Boolean = {
    val begin = System.nanoTime()
    var holds = condition
    while (!holds && (System.nanoTime() - begin) / 1000000 < millis) {
      Thread.sleep(pauseMillis)
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
    query.exception.foreach(error => Evidence.broken(s"the query failed: ${Evidence.text(error)}", error))

  def stop(query: StreamingQuery): Unit = { val _ = Try(query.stop()) }
}
