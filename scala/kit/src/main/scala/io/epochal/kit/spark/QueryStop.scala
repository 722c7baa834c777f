package io.epochal.kit.spark

import java.io.InterruptedIOException
import java.nio.channels.ClosedByInterruptException
import java.util.concurrent.CancellationException

import org.slf4j.LoggerFactory

/** Reports a query's stop to Spark as an InterruptedException.
  *
  * `StreamingQuery.stop()` interrupts the query's thread. Spark recognises a stop only by certain exceptions, but a library
  * below Epochal may throw its own for an interrupt, hide it in a cause, or even clear the thread's flag. Every method that
  * Spark calls on the query's thread runs in [[guard]], the only place that decides.
  */
private[epochal] object QueryStop {
  private val log = LoggerFactory.getLogger("io.epochal.kit.spark.QueryStop")

  /** Runs `body`.
    *
    * @throws InterruptedException
    *   if `body` failed because it was interrupted, or while its query was stopping; the failure is its cause
    */
  def guard[A](body: => A): A =
    try body
    catch {
      case stop: InterruptedException                                                   => throw stop
      case error: Exception if flagged || isInterruption(error) || RunningQuery.stopped => throw interruption(error)
    }

  /** Whether an interrupt is among the causes. Timeouts, which are subclasses of InterruptedIOException, do not count. */
  def isInterruption(error: Throwable): Boolean =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(50).exists {
      case io: InterruptedIOException                               => io.getClass == classOf[InterruptedIOException]
      case _: InterruptedException                                  => true
      case _: ClosedByInterruptException | _: CancellationException => true
      case _                                                        => false
    }

  private def flagged: Boolean = Thread.currentThread().isInterrupted

  private def interruption(error: Exception): InterruptedException = {
    log.info(s"Interrupted: $error")
    val stop = new InterruptedException(error.getMessage)
    stop.initCause(error)
    stop
  }
}
