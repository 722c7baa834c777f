package io.epochal.ingest

import java.io.IOException
import java.net.{InetAddress, ServerSocket}
import java.util

import scala.util.Using

import org.scalatest.tags.Slow

import io.epochal.ingest.tcp.TcpClient
import io.epochal.support.QueryConformance
import io.epochal.testkit.{Conformance, FormatSource, SourcePromises}

/** The source in queries that are stopped, killed and run in other modes. The client retries until it is acknowledged. */
@Slow
final class IngestQueryConformanceSuite
    extends QueryConformance(
      Conformance
        .source("epochal-ingest in queries", () => new IngestFormatFixture)
        .only((SourcePromises.ofQueries ++ SourcePromises.ofKills).map(_.name): _*))

final class IngestFormatFixture extends FormatSource(IngestOptions.Format) {
  private val port = Using.resource(new ServerSocket(0, 1, InetAddress.getLoopbackAddress))(_.getLocalPort)
  private var sent = 0

  override def options: util.Map[String, String] = util.Map.of("port", port.toString, "ack", "true")

  override def optionsOfAnotherSource: util.Map[String, String] =
    util.Map.of("port", port.toString, "sourceId", "other")

  override def keepsRows: Boolean = false

  override def receives: Boolean = true

  override def modes: util.Set[String] = util.Set.of("continuous", "real-time")

  override def makeAvailable(rows: Int): Unit = {
    val deadline = System.nanoTime() + 120000000000L
    val until = sent + rows
    while (sent < until)
      if (!acknowledged(s"line $sent")) {
        if (System.nanoTime() > deadline) throw new IllegalStateException(s"line $sent was not acknowledged")
        Thread.sleep(20)
      } else sent += 1
  }

  private def acknowledged(line: String): Boolean =
    try
      Using.resource(new TcpClient(port)) { client =>
        client.send(s"$line\n")
        client.line() == "OK 1"
      }
    catch { case _: IOException => false }
}
