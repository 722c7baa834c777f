package io.epochal.spark.source.rest

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.{Configurator, Property}
import org.apache.logging.log4j.core.{LogEvent, Logger}
import org.apache.logging.log4j.{Level, LogManager}
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.spark.http.{BodyBuffer, HttpClient, HttpCounters}

final class ClientLogSuite extends AnyFunSuite {

  final private class Kept extends AbstractAppender("kept", null, null, true, Property.EMPTY_ARRAY) {
    val lines = new ConcurrentLinkedQueue[String]
    override def append(event: LogEvent): Unit = {
      val _ = lines.add(s"${event.getLoggerName} ${event.getMessage.getFormattedMessage}")
    }
  }

  /** What is logged at DEBUG meanwhile. */
  private def atDebug(body: => Unit): Seq[String] = {
    val root = LogManager.getRootLogger.asInstanceOf[Logger]
    val (kept, before) = (new Kept, root.getLevel)
    kept.start()
    root.addAppender(kept)
    Configurator.setRootLevel(Level.DEBUG)
    LogManager.getLogger("ClientLogSuite").debug("at DEBUG")
    try body
    finally {
      Configurator.setRootLevel(before)
      root.removeAppender(kept)
    }
    kept.lines.asScala.toSeq
  }

  test("at DEBUG, too, nothing of a request is logged that may be secret") {
    RecordsApi.using(records = 3) { api =>
      val options = RestOptions
        .read(
          Map(
            "url" -> api.url,
            "headers.X-Key" -> "Mk7-header",
            "params.key" -> "Mk7-param",
            "bearerToken" -> "Mk7-token") +
            ("apiKey" -> "Mk7-key") + ("apiKeyParam" -> "api_key"))
        .fold(throw _, identity)
      val lines = atDebug(Using.resource(new HttpClient(options.http, new HttpCounters)) { client =>
        client.call(options.call(options.pagination.request(0)), new BodyBuffer)(_ => ())
      })
      assert(lines.contains("ClientLogSuite at DEBUG"))
      assert(lines.filter(_.contains("Mk7")) == Nil)
    }
  }
}
