package io.epochal.ingest

import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit.{MILLISECONDS, SECONDS}
import java.util.concurrent.TimeoutException

import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.ingest.IngestStreams.{arrival, store}
import io.epochal.ingest.intake.Receipt
import io.epochal.ingest.tcp.TcpClient

/** The time between the start of a stream and its first batch, when the stream does not know Spark's logged offsets yet. */
final class IngestStartSuite extends AnyFunSuite {

  /** The calls by which Spark passes a logged offset, here row 10. */
  private val firstCalls = Seq[(String, IngestRun => Any)](
    "the next offset is requested" -> (_.source.supply.available(IngestPosition(10), Long.MaxValue)),
    "a batch is replayed" -> (_.source.supply.partitions(IngestPosition(3), IngestPosition(10))),
    "endless partitions are planned" -> (_.source.endlessPartitions(IngestPosition(10)))
  )

  /** A checkpoint whose journal has five rows. */
  private def journalled(): Path = {
    val checkpoint = Files.createTempDirectory("epochal-ingest").resolve("0")
    Using.resource(new IngestRun(checkpoint, Map.empty))(run => store(run.source.intake, Rows)): Unit
    checkpoint
  }

  private val Rows = Seq("a", "b", "c", "d", "e")

  for ((when, call) <- firstCalls) {
    test(s"a journal behind Spark's log acknowledges nothing when $when") {
      val checkpoint = journalled()
      Using.resource(new IngestRun(checkpoint, Map.empty, begins = false)) { run =>
        val receipt = run.source.intake.accept(arrival(Seq("x")))
        assert(intercept[EpochalException](call(run)).condition == Conditions.DataLoss)
        intercept[TimeoutException](receipt.get(200, MILLISECONDS)): Unit
        // A second call fails, too.
        assert(intercept[EpochalException](call(run)).condition == Conditions.DataLoss)
        run.close()
        assert(receipt.get(60, SECONDS) match {
          case Receipt.Failed(error) => error.condition == Conditions.IntakeStopped
          case _                     => false
        })
      }
      Using.resource(new IngestRun(checkpoint, Map.empty))(run => assert(run.values() == Rows)): Unit
    }

    test(s"with failOnDataLoss=false waiting records are numbered after Spark's log when $when") {
      Using.resource(new IngestRun(journalled(), Map("failOnDataLoss" -> "false"), begins = false)) { run =>
        val receipt = run.source.intake.accept(arrival(Seq("x")))
        call(run): Unit
        assert(receipt.get(60, SECONDS) == Receipt.Stored(1))
        assert(run.source.intake.journal.until == 11 && run.values() == Rows :+ "x")
      }
    }
  }

  test("a client that connects before the first batch is acknowledged when the batch is requested") {
    val checkpoint = Files.createTempDirectory("epochal-ingest").resolve("0")
    Using.resource(new IngestRun(checkpoint, Map("ack" -> "true"), begins = false)) { run =>
      Using.resource(new TcpClient(run.port)) { client =>
        client.send("a\nb\n")
        assert(run.metric("acknowledged") == "0" && !run.source.intake.isOpen)
        assert(run.source.supply.available(IngestPosition(0), Long.MaxValue) == 0)
        client.await(2)
        assert(run.values() == Seq("a", "b") && run.source.intake.isOpen)
      }
    }
  }

  test("a stream that is stopped before its first batch closes its connections and acknowledges nothing") {
    val checkpoint = Files.createTempDirectory("epochal-ingest").resolve("0")
    val run = new IngestRun(checkpoint, Map("ack" -> "true"), begins = false)
    Using.resource(new TcpClient(run.port)) { client =>
      client.send("a\n")
      run.close()
      // The line may have been read before the stop.
      val reply = scala.util.Try(client.line()).toOption.flatMap(Option(_))
      assert(reply.forall(_.startsWith("ERR [EPOCHAL.INTAKE_STOPPED]")), reply)
    }
    Using.resource(new IngestRun(checkpoint, Map.empty))(next => assert(next.values().isEmpty)): Unit
  }
}
