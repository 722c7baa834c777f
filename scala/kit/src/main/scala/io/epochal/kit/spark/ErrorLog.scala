package io.epochal.kit.spark

import java.util.concurrent.TimeUnit

import scala.collection.mutable

import org.apache.logging.log4j.LogManager
import org.apache.logging.log4j.core.filter.AbstractFilter
import org.apache.logging.log4j.core.{Filter, LogEvent, LoggerContext}
import org.apache.spark.SparkEnv
import org.slf4j.LoggerFactory

/** Makes one line of what Spark logs about an error of this library.
  *
  * Spark logs a failure in the task, in the scheduler and in the query, each time with the stack traces of all causes. In Log4j 2,
  * Spark's own backend, such an event is replaced: the first by its text and the error's message, those that follow within ten
  * seconds by nothing, and the one that ends a query by its text and the condition. With `io.epochal` at DEBUG Spark's events
  * stay as they are.
  *
  * Untouched are events of other loggers, errors of a connector of another team, and failures where an exception of the user's
  * code is between Spark's and ours.
  */
private[kit] object ErrorLog {
  private val Message = raw"\[EPOCHAL\.(?!CONNECTOR_)\w+\][^\n]*".r
  private val ClassName = raw"(?:[\w$$]+\.)+[\w$$]*(?:Exception|Error)(?=: )".r

  /** Does nothing where another backend of SLF4J writes the log.
    *
    * @throws LinkageError
    *   the class path has no Log4j 2
    */
  def install(): Unit = if (LoggerFactory.getILoggerFactory.getClass.getName.startsWith("org.apache.logging.slf4j.")) {
    val context = LogManager.getContext(classOf[SparkEnv].getClassLoader, false).asInstanceOf[LoggerContext]
    val filter = new ErrorLog(context)
    def add(): Unit = context.getConfiguration.getLoggers.values.forEach { logger =>
      logger.removeFilter(filter)
      logger.addFilter(filter)
    }
    // Called for a new configuration and after each change of a level, which may have added a logger.
    context.addPropertyChangeListener(_ => add())
    add()
  }

  /** The message of our error, if only exceptions of Spark are around it. */
  private[spark] def in(failure: Throwable): Option[String] = {
    val (around, inner) = Iterator
      .iterate(failure)(_.getCause)
      .takeWhile(_ != null)
      .take(50)
      .span(error => !error.getClass.getName.startsWith("io.epochal."))
    Option
      .when(around.forall(error => isSparks(error.getClass.getName)))(inner.nextOption())
      .flatten
      .flatMap(error => Option(error.getMessage))
      .filter(Message.matches)
  }

  /** Splits a text with a stack trace into what precedes the exceptions and our message. */
  private[spark] def in(text: String): Option[(String, String)] =
    Option
      .when(text.contains("\n\tat "))(Message.findFirstMatchIn(text))
      .flatten
      .map(hit => (text.take(hit.start), hit.matched))
      .collect {
        case (before, message)
            if ClassName.findAllIn(before).forall(name => isSparks(name) || name.startsWith("io.epochal.")) =>
          (ClassName.findFirstMatchIn(before).fold(before)(name => before.take(name.start)).stripSuffix(": "), message)
      }

  private def isSparks(name: String): Boolean =
    name.startsWith("org.apache.spark.") && !name.contains(
      "UserFunc") || name == "java.util.concurrent.ExecutionException"
}

final private class ErrorLog(context: LoggerContext) extends AbstractFilter {
  private val log = context.getLogger("io.epochal.kit.spark.ErrorLog")
  private val lastShown = mutable.Map.empty[String, Long]

  override def filter(event: LogEvent): Filter.Result =
    if (!event.getLoggerName.startsWith("org.apache.spark.")) Filter.Result.NEUTRAL
    else
      conditionOf(event).filterNot(_ => log.isDebugEnabled).fold(Filter.Result.NEUTRAL) { case (text, message) =>
        val ending = event.getLoggerName.contains(".streaming.")
        val line =
          if (isFirst(message, ending)) Some(message)
          else Option.when(ending)(message.takeWhile(_ != ' '))
        line.foreach(line => context.getLogger(event.getLoggerName).log(event.getLevel, s"$text: $line"))
        Filter.Result.DENY
      }

  private def conditionOf(event: LogEvent): Option[(String, String)] = {
    val text = event.getMessage.getFormattedMessage
    Option(event.getThrown).fold(ErrorLog.in(text))(error => ErrorLog.in(error).map(text -> _))
  }

  /** Whether it is the first event with this message in a run of a query, or within ten seconds. */
  private def isFirst(message: String, ending: Boolean): Boolean = synchronized {
    val now = System.nanoTime()
    lastShown.filterInPlace((_, at) => now - at < TimeUnit.SECONDS.toNanos(10))
    val first = !lastShown.contains(message)
    if (ending) lastShown -= message
    else if (first) lastShown(message) = now
    first
  }
}
