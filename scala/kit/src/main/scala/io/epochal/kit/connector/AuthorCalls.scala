package io.epochal.kit.connector

import java.io.{FileNotFoundException, IOException}
import java.nio.file.FileSystemException
import java.util.concurrent.atomic.AtomicLong

import scala.util.control.NonFatal

import org.slf4j.{Logger, LoggerFactory}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.retry.{Retrier, RetryEvent, RetrySettings, Verdict}
import io.epochal.kit.spark.QueryStop

/** Calls of an author's code: retried after transient failures; exceptions become errors that name the step. Interruptions
  * pass through unchanged.
  *
  * @param isTransient
  *   of an exception that is neither an error of the kit nor an interruption
  */
final private[connector] class AuthorCalls(format: String, retry: RetrySettings, isTransient: Exception => Boolean) {
  private val retries = new AtomicLong

  def apply[A](step: String)(body: => A): A = {
    var attempts = 0
    try
      new Retrier(retry, verdict, log(step, _)).run { failures =>
        attempts = failures + 1
        body
      }
    catch { case error: Exception if isAuthors(error) => throw failure(step, attempts, error) }
  }

  /** Calls once, in a task: Spark retries the task. */
  def once[A](step: String)(body: => A): A =
    try body
    catch { case error: Exception if isAuthors(error) => throw failure(step, 1, error) }

  def invalid(member: String, reason: String): EpochalException =
    Conditions.ConnectorInvalid("format" -> format, "member" -> member, "reason" -> reason)

  def repeated: Long = retries.get

  private def isAuthors(error: Exception): Boolean =
    EpochalException.in(error).isEmpty && !QueryStop.isInterruption(error) && NonFatal(error)

  private def verdict(error: Throwable): Verdict = error match {
    case error: Exception if isAuthors(error) && isTransient(error) => Verdict.Retry
    case _                                                          => Verdict.GiveUp
  }

  private def log(step: String, event: RetryEvent): Unit = {
    retries.incrementAndGet(): Unit
    AuthorCalls.log.warn(
      s"$format failed while it $step (attempt ${event.failures} of ${retry.maxAttempts}), " +
        s"the next one follows in ${event.delay.toMillis} ms: ${event.cause}")
  }

  private def failure(step: String, attempts: Int, error: Exception): EpochalException =
    Conditions.ConnectorFailed
      .because(error)("format" -> format, "step" -> step, "attempts" -> attempts, "reason" -> error.toString)
}

private[connector] object AuthorCalls {
  val log: Logger = LoggerFactory.getLogger("io.epochal.kit.connector")

  /** Whether an error is an I/O failure that is not of a file: that of a network. */
  def isOfNetwork(error: Throwable): Boolean = error match {
    case _: FileSystemException | _: FileNotFoundException => false
    case _: IOException                                    => !QueryStop.isInterruption(error)
    case _                                                 => false
  }
}
