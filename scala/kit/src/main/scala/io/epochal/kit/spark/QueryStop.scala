package io.epochal.kit.spark

import java.io.InterruptedIOException
import java.nio.channels.ClosedByInterruptException
import java.util.concurrent.CancellationException

import org.slf4j.LoggerFactory

/** A stop is a stop (K18): what a stopped query's call fails with reaches Spark as an InterruptedException.
  *
  * `StreamingQuery.stop()` interrupts the query's thread. Spark takes for a stop only the exceptions that it knows;
  * a library below us may throw its own for an interrupt, hide it in a cause, or even clear the thread's flag. Every method that
  * Spark calls on the query's thread runs in [[guard]]: there alone it is decided.
  */
private[epochal] object QueryStop {
  private val log = LoggerFactory.getLogger("io.epochal.kit.spark.QueryStop")

  /** Runs `body`.
    *
    * @throws InterruptedException
    *   where `body` failed because it was interrupted, or while its query was being stopped; the failure is its cause
    */
  def guard[A](body: => A): A =
    try body
    catch {
      case stop: InterruptedException                                                   => throw stop
      case error: Exception if flagged || isInterruption(error) || RunningQuery.stopped => throw interruption(error)
    }

  /** Whether an interrupt is among the causes. Timeouts are subclasses of InterruptedIOException, and are none. */
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
