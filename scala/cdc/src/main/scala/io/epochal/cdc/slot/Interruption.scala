package io.epochal.cdc.slot

import java.sql.{Connection, SQLException}
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{ScheduledThreadPoolExecutor, TimeUnit}

import scala.util.Try

import org.postgresql.PGConnection

import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.spark.RunningQuery

/** Ends waits for the server. The driver waits although its thread is interrupted, so the server is asked to cancel the statement; if
  * that does not end it, the connection is closed.
  */
private[slot] object Interruption {

  /** Runs statements of a connection, until this thread is interrupted or its query stops.
    *
    * @throws InterruptedException
    *   if that made a statement fail
    */
  def watch[A](connection: Connection)(body: => A): A = {
    val thread = Thread.currentThread
    val isStopping = RunningQuery.stopOfThisThread()
    try looking(connection, thread.isInterrupted || isStopping())(body)
    catch {
      case error: SQLException if Thread.interrupted() || isStopping() =>
        val stop = new InterruptedException(error.getMessage)
        stop.initCause(error)
        throw stop
    }
  }

  /** Runs statements of a connection, for two seconds at most. */
  def limit[A](connection: Connection)(body: => A): A = {
    val startNanos = System.nanoTime()
    looking(connection, System.nanoTime() - startNanos > LimitNanos)(body)
  }

  private def looking[A](connection: Connection, isDue: => Boolean)(body: => A): A = {
    val lookCount = new AtomicInteger
    val look: Runnable = () => if (isDue) end(connection, lookCount.getAndIncrement())
    val looks = timer.scheduleWithFixedDelay(look, Pause, Pause, TimeUnit.MILLISECONDS)
    try body
    finally looks.cancel(false): Unit
  }

  private def end(connection: Connection, looks: Int): Unit =
    if (looks >= Looks) Try(connection.abort(_.run())): Unit
    else if (looks == 0)
      // It connects to the server, which may not answer.
      new DaemonThreads("epochal-cdc-cancel")
        .newThread(() => Try(connection.unwrap(classOf[PGConnection]).cancelQuery()): Unit)
        .start()

  /** Interval between checks, in milliseconds. */
  private val Pause = 250L

  /** Checks between the cancellation and the end of the connection. */
  private val Looks = 8

  private val LimitNanos = 2000L * 1000000L

  private lazy val timer = {
    val one = new ScheduledThreadPoolExecutor(1, new DaemonThreads("epochal-cdc-interruption"))
    one.setRemoveOnCancelPolicy(true)
    one
  }
}
