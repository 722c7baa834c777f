package io.epochal.kit.connector

import java.io.{FileNotFoundException, IOException}
import java.nio.file.FileSystemException
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.types.StructType
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
      new Retrier(retry, verdict, logged(step, _)).run { failures =>
        attempts = failures + 1
        body
      }
    catch { case error: Exception if isAuthors(error) => throw failed(step, attempts, error) }
  }

  /** Calls once, in a task: Spark retries the task. */
  def once[A](step: String)(body: => A): A =
    try body
    catch { case error: Exception if isAuthors(error) => throw failed(step, 1, error) }

  def invalid(member: String, reason: String): EpochalException =
    Conditions.ConnectorInvalid("format" -> format, "member" -> member, "reason" -> reason)

  def repeated: Long = retries.get

  private def isAuthors(error: Exception): Boolean =
    EpochalException.in(error).isEmpty && !QueryStop.isInterruption(error) && NonFatal(error)

  private def verdict(error: Throwable): Verdict = error match {
    case found: Exception if isAuthors(found) && isTransient(found) => Verdict.Retry
    case _                                                          => Verdict.GiveUp
  }

  private def logged(step: String, event: RetryEvent): Unit = {
    retries.incrementAndGet(): Unit
    AuthorCalls.log.warn(
      s"$format failed while it $step (attempt ${event.failures} of ${retry.maxAttempts}), " +
        s"the next one follows in ${event.delay.toMillis} ms: ${event.cause}")
  }

  private def failed(step: String, attempts: Int, error: Exception): EpochalException =
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

/** An origin that the first call opens, and calls of it. */
final private[connector] class OriginCalls[P](open: () => Origin[P], author: AuthorCalls) extends AutoCloseable {
  @volatile private var isOpen = false

  private lazy val origin: Origin[P] = {
    val opened = author("opened its origin")(open())
    isOpen = true
    opened
  }

  def apply[A](step: String)(body: Origin[P] => A): A = author(step)(body(origin))

  def once[A](step: String)(body: => A): A = author.once(step)(body)

  /** Opens a reader of the origin; if that fails, the origin is closed. */
  def opened[A](step: String)(body: Origin[P] => A): A =
    try apply(step)(body)
    catch {
      case error: Throwable =>
        close()
        throw error
    }

  /** Closes a reader of the origin, and then the origin. */
  def closed(reader: AutoCloseable): Unit =
    try once("closed a partition")(reader.close())
    finally close()

  /** The origin of a connector with `tails`. */
  def tail: TailOrigin[P] = origin match {
    case tail: TailOrigin[P] => tail
    case _                   => throw invalid("open", "its tails() is true, and its origin is no TailOrigin")
  }

  def invalid(member: String, reason: String): EpochalException = author.invalid(member, reason)

  def metrics: Map[String, String] =
    Map("retries" -> author.repeated.toString) ++
      (if (isOpen) author.once("gave its metrics")(origin.metrics().asScala) else Nil)

  override def close(): Unit = if (isOpen) author.once("closed its origin")(origin.close())
}

private[connector] object OriginCalls {

  def open[P](connector: SourceConnector[P], settings: Settings, schema: StructType): OriginCalls[P] =
    new OriginCalls(() => connector.open(settings, schema), connector.calls(settings))

  def inTask[P](task: ConnectorInTask[SourceConnector[P]]): (PositionFormat[P], OriginCalls[P]) = {
    val connector = task.connector
    (connector.positions, open(connector, connector.settings(task.raw), task.schema))
  }
}
