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

/** Between the start of a stream and its first batch: Spark has not told yet how far its offsets are. */
final class IngestStartSuite extends AnyFunSuite {

  /** The ways in which Spark tells it, each with the row 10 as the last one of its log. */
  private val tellings = Seq[(String, IngestRun => Any)](
    "the end of the next batch is asked for" -> (_.source.supply.available(IngestPosition(10), Long.MaxValue)),
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

  for ((when, tell) <- tellings) {
    test(s"with the journal behind Spark's log nothing is acknowledged, when $when") {
      val checkpoint = journalled()
      Using.resource(new IngestRun(checkpoint, Map.empty, begins = false)) { run =>
        val receipt = run.source.intake.accept(arrival(Seq("x")))
        assert(intercept[EpochalException](tell(run)).condition == Conditions.DataLoss)
        intercept[TimeoutException](receipt.get(200, MILLISECONDS)): Unit
        // Asked again, it does not forget.
        assert(intercept[EpochalException](tell(run)).condition == Conditions.DataLoss)
        run.close()
        assert(receipt.get(60, SECONDS) match {
          case Receipt.Failed(error) => error.condition == Conditions.IntakeStopped
          case _                     => false
        })
      }
      Using.resource(new IngestRun(checkpoint, Map.empty))(run => assert(run.values() == Rows)): Unit
    }

    test(s"with failOnDataLoss=false what came before gets a number behind Spark's log, when $when") {
      Using.resource(new IngestRun(journalled(), Map("failOnDataLoss" -> "false"), begins = false)) { run =>
        val receipt = run.source.intake.accept(arrival(Seq("x")))
        tell(run): Unit
        assert(receipt.get(60, SECONDS) == Receipt.Stored(1))
        assert(run.source.intake.journal.until == 11 && run.values() == Rows :+ "x")
      }
    }
  }

  test("a client that connects before the first batch is acknowledged when that is asked for") {
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

  test("a stream that is stopped before its first batch keeps no client, and acknowledges nothing") {
    val checkpoint = Files.createTempDirectory("epochal-ingest").resolve("0")
    val run = new IngestRun(checkpoint, Map("ack" -> "true"), begins = false)
    Using.resource(new TcpClient(run.port)) { client =>
      client.send("a\n")
      run.close()
      // The line was read before the stop, or was not.
      val said = scala.util.Try(client.line()).toOption.flatMap(Option(_))
      assert(said.forall(_.startsWith("ERR [EPOCHAL.INTAKE_STOPPED]")), said)
    }
    Using.resource(new IngestRun(checkpoint, Map.empty))(next => assert(next.values().isEmpty)): Unit
  }
}
