package io.epochal.rest.source

import java.nio.file.Files

import com.github.tomakehurst.wiremock.WireMockServer
import com.github.tomakehurst.wiremock.client.ResponseDefinitionBuilder
import com.github.tomakehurst.wiremock.client.WireMock._
import com.github.tomakehurst.wiremock.core.WireMockConfiguration.options
import com.github.tomakehurst.wiremock.stubbing.Scenario
import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.apache.spark.sql.types.StructType
import org.scalatest.{BeforeAndAfterAll, BeforeAndAfterEach, Suite}

import io.epochal.core.error.EpochalException
import io.epochal.kit.source.SourceStream
import io.epochal.testkit.MicroBatch

/** A server with scripted responses, and a stream over it. Its list of records is at `/c`. */
trait StubbedApi extends BeforeAndAfterAll with BeforeAndAfterEach { this: Suite =>

  protected val server = new WireMockServer(options().dynamicPort().bindAddress("127.0.0.1"))
  protected val schema: StructType = StructType.fromDDL("id INT NOT NULL, name STRING")
  protected val page = """[{"id":0,"name":"a"},{"id":1,"name":"b"},{"id":2,"name":"c"}]"""

  /** A text that no error may contain. */
  protected val secret = "hunter2"

  override def beforeAll(): Unit = server.start()
  override def afterAll(): Unit = server.stop()
  override def beforeEach(): Unit = server.resetAll()

  protected def url: String = s"http://localhost:${server.port}/c"

  protected def read(more: (String, String)*): RestOptions = {
    val quick = Map(
      "url" -> url,
      "refreshInterval" -> "0s",
      "retry.initialDelay" -> "1ms",
      "retry.maxDelay" -> "20ms",
      "numPartitions" -> "1")
    RestOptions.read(quick ++ more).fold(throw _, identity)
  }

  protected def stream(more: (String, String)*): SourceStream[RestPosition] =
    RestStreams.of(read(more: _*), schema, Files.createTempDirectory("rest").resolve("0"))

  /** Reads everything available, as Spark would. */
  protected def readAll(source: SourceStream[RestPosition]): Seq[Seq[Any]] = {
    val start = source.initialOffset()
    MicroBatch.next(source, start, ReadLimit.allAvailable()).toSeq.flatMap(MicroBatch.read(source, schema, start, _))
  }

  protected def failure(body: => Any): EpochalException =
    try {
      val taken = body
      throw new AssertionError(s"did not fail, but gave $taken")
    } catch {
      case error: EpochalException =>
        if (error.getMessage.contains(secret)) throw new AssertionError(s"contains a secret: ${error.getMessage}")
        error
    }

  protected def metric(source: SourceStream[RestPosition], name: String): Long =
    source.metrics(java.util.Optional.empty()).get(name).toLong

  protected def good: ResponseDefinitionBuilder = okJson(page)

  /** The n-th request gets the n-th response, and all further ones the last. */
  protected def respond(all: ResponseDefinitionBuilder*): Unit = all.zipWithIndex.foreach { case (response, i) =>
    server.stubFor(
      get(urlPathEqualTo("/c"))
        .inScenario("turns")
        .whenScenarioStateIs(if (i == 0) Scenario.STARTED else s"$i")
        .willReturn(response)
        .willSetStateTo(if (i + 1 < all.size) s"${i + 1}" else if (i == 0) Scenario.STARTED else s"$i")
    )
  }

  protected def requests: Int = server.getAllServeEvents.size
}
