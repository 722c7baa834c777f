package io.epochal.support

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.{Configurator, Property}
import org.apache.logging.log4j.core.{LogEvent, Logger}
import org.apache.logging.log4j.{Level, LogManager}

/** Captures log events of a test. */
object LoggedLines {

  /** Threads that remove what a failed epoch has left, for half a minute: also one of an earlier suite. */
  private val Later = "epochal-leftovers"

  /** @return
    *   logger name and message of each event; the first event is from this object
    */
  def of(level: Level)(body: => Unit): Seq[String] = {
    val root = LogManager.getRootLogger.asInstanceOf[Logger]
    val (kept, before) = (new Kept, root.getLevel)
    kept.start()
    root.addAppender(kept)
    Configurator.setRootLevel(level)
    LogManager.getLogger("LoggedLines").log(level, "begins")
    try body
    finally {
      Configurator.setRootLevel(before)
      root.removeAppender(kept)
    }
    kept.lines.asScala.toSeq
  }

  final private class Kept extends AbstractAppender("kept", null, null, true, Property.EMPTY_ARRAY) {
    val lines = new ConcurrentLinkedQueue[String]
    override def append(event: LogEvent): Unit = if (event.getThreadName != Later) {
      val _ = lines.add(s"${event.getLoggerName} ${event.getMessage.getFormattedMessage}")
    }
  }
}
