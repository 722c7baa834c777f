package io.epochal.ingest

import java.io.File
import java.util.UUID

import scala.util.Using

import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.tags.Slow

import io.epochal.ingest.http.RawClient
import io.epochal.ingest.tcp.TcpClient
import io.epochal.support.ModesTest.Mode
import io.epochal.support.{Collected, ModesTest, Ports}

/** One checkpoint under one trigger and then another, for all pairs that Spark allows: every acknowledged line is delivered, and
  * rows of epochs that Spark logged as committed are not delivered again.
  */
@Slow
final class IngestModesSuite extends ModesTest {
  import IngestModesSuite._

  for (first <- Modes; second <- Modes if !refused(first -> second))
    test(s"${first.name} to ${second.name}: every acknowledged line is delivered, and no committed one twice") {
      withTempDir { checkpoint =>
        val before = run(checkpoint, first, Tcp, Seq("a", "b"), Seq("c"))
        assert(before == Seq("a", "b", "c"))
        finish(first -> second, checkpoint)(start(checkpoint, _, Tcp, UUID.randomUUID().toString, Ports.free()))
        val after = run(checkpoint, second, Tcp, Seq("d"), Seq("e", "f"))
        assert(after == Seq("d", "e", "f"))
      }
    }

  for (mode <- Seq(Continuous, RealTime))
    test(s"HTTP, ${mode.name}: every acknowledged record is delivered, and after a restart no committed one again") {
      withTempDir { checkpoint =>
        assert(run(checkpoint, mode, Http, Seq("a", "b"), Seq("c")) == Seq("a", "b", "c"))
        assert(run(checkpoint, mode, Http, Seq("d"), Seq("e", "f")) == Seq("d", "e", "f"))
      }
    }

  test("real-time: records that arrive after an empty start belong to the first batch, however long it runs") {
    withTempDir { checkpoint =>
      val port = Ports.free()
      val name = UUID.randomUUID().toString
      val query = start(checkpoint, RealTime.copy(trigger = Trigger.RealTime(600000)), Tcp, name, port)
      try {
        until(query)(assert(spark.sparkContext.statusTracker.getActiveJobIds().nonEmpty))
        until(query)(Tcp.send(port, Seq("a")))
        until(query)(assert(Collected.of(name).map(_.getString(0)) == Seq("a")))
      } finally query.stop()
    }
  }

  /** Starts a query, sends each part once the previous one was delivered in committed epochs, and stops. */
  private def run(checkpoint: File, mode: Mode, protocol: Protocol, parts: Seq[String]*): Seq[String] = {
    val port = Ports.free()
    val name = UUID.randomUUID().toString
    val query = start(checkpoint, mode, protocol, name, port)
    val before = committed(checkpoint)
    try
      parts.scanLeft(before)(_ + _.size).drop(1).zip(parts).foreach { case (goal, lines) =>
        until(query)(protocol.send(port, lines))
        until(query)(assert(committed(checkpoint) == goal))
      }
    finally query.stop()
    Collected.of(name).map(_.getString(0))
  }

  private def until(query: StreamingQuery)(claim: => Any): Unit = until(query, minutes = 5)(claim)

  private def start(checkpoint: File, mode: Mode, protocol: Protocol, name: String, port: Int): StreamingQuery = {
    val options = protocol.options ++ Map("port" -> port.toString, "numPartitions" -> "1")
    val lines = spark.readStream.format("epochal-ingest").options(options).load().select("value")
    collect(lines, checkpoint, mode, name)
  }

  /** End of the last epoch that Spark logged as committed. */
  private def committed(checkpoint: File): Long = ModesTest.committed(checkpoint, "row")
}

private object IngestModesSuite extends ModesTest.Modes(micro = 50, continuous = 100, realTime = 500) {

  /** @param send
    *   returns when the lines are acknowledged
    */
  final case class Protocol(options: Map[String, String], send: (Int, Seq[String]) => Unit)

  val Tcp: Protocol = Protocol(
    Map("ack" -> "true"),
    (port, lines) =>
      Using.resource(new TcpClient(port)) { client =>
        client.send(lines.mkString("", "\n", "\n"))
        client.await(lines.size)
      })
  val Http: Protocol = Protocol(
    Map("protocol" -> "http"),
    (port, lines) =>
      Using.resource(new RawClient(port)) { client =>
        client.send(RawClient.request("POST", "/", lines.mkString("\n").getBytes, "Content-Type" -> "text/plain"))
        val response = client.response()
        require(response.status == 200, s"$response")
      })
}
