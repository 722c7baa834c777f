package io.epochal.ingest

import java.net.{InetAddress, ServerSocket}
import java.nio.file.{Files, Path}
import java.time.Clock

import scala.util.Using

import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.Failpoints
import io.epochal.ingest.IngestStreams.store
import io.epochal.ingest.intake.Receipt
import io.epochal.ingest.tcp.TcpClient
import io.epochal.kit.source.{ContinuousSourceStream, RealTime, SourceOffset}
import io.epochal.support.Ports

/** A stream holds the port and the journal from its first batch to its stop. */
final class IngestStartSuite extends AnyFunSuite with Eventually {

  private def position(row: Long) =
    SourceOffset(IngestPosition(row), IngestOffset.toJson("clients", IngestPosition(row)))

  /** The calls by which Spark passes a logged offset, here row 10. */
  private val firstCalls = Seq[(String, IngestRun => Any)](
    "the next offset is requested" -> (run => run.stream.latestOffset(position(10), run.source.limit)),
    "a batch is replayed" -> (_.stream.planInputPartitions(position(3), position(10)))
  )

  /** A checkpoint whose journal has five rows. */
  private def journalled(): Path = {
    val checkpoint = fresh()
    Using.resource(new IngestRun(checkpoint, Map.empty))(run => store(run.source.receiver.intake, Rows)): Unit
    checkpoint
  }

  private def fresh(): Path = Files.createTempDirectory("epochal-ingest").resolve("0")

  /** Soon: a process that another thread forks has the socket until it runs its own program. */
  private def assertFree(port: Int): Unit = eventually(timeout(Span(5, Seconds)), interval(Span(50, Millis))) {
    new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1")).close()
  }

  private val Rows = Seq("a", "b", "c", "d", "e")

  for ((when, call) <- firstCalls) {
    test(s"a journal behind Spark's log acknowledges nothing when $when, and nobody listens") {
      val (checkpoint, port) = (journalled(), Ports.free())
      Using.resource(new IngestRun(checkpoint, Map("port" -> port.toString), begins = false)) { run =>
        // A second call fails, too.
        (1 to 2).foreach { _ =>
          assert(intercept[EpochalException](call(run)).condition == Conditions.DataLoss)
          assertFree(port)
        }
      }
      Using.resource(new IngestRun(checkpoint, Map.empty))(run => assert(run.values() == Rows)): Unit
    }

    test(s"with failOnDataLoss=false records are numbered after Spark's log when $when") {
      Using.resource(new IngestRun(journalled(), Map("failOnDataLoss" -> "false"), begins = false)) { run =>
        call(run): Unit
        assert(store(run.source.receiver.intake, Seq("x")) == Receipt.Stored(1))
        assert(run.source.receiver.intake.journal.until == 11 && run.values() == Rows :+ "x")
      }
    }
  }

  test("a second run that cannot listen leaves the first one its journal") {
    val checkpoint = fresh()
    Using.resource(new IngestRun(checkpoint, Map("ack" -> "true"))) { first =>
      val refused = intercept[EpochalException](new IngestRun(checkpoint, Map("port" -> first.port.toString)))
      assert(refused.condition == Conditions.PortUnavailable)
      Using.resource(new TcpClient(first.port)) { client =>
        client.send("a\nb\n")
        client.await(2)
      }
      assert(first.values() == Seq("a", "b"))
    }
  }

  test("a continuous run that cannot listen leaves the ends that an earlier run has logged") {
    Using.resource(new IngestRun(fresh(), Map.empty)) { first =>
      Using.resource(new IngestRun(fresh(), Map("port" -> first.port.toString), begins = false)) { second =>
        var forgotten = false
        val stream = new ContinuousSourceStream(
          second.source,
          second.initial,
          Clock.systemUTC(),
          forgetUncommitted = () => forgotten = true)
        val refused = intercept[EpochalException](stream.planInputPartitions(position(0)))
        assert(refused.condition == Conditions.PortUnavailable && !forgotten)
      }
    }
  }

  test("a real-time run that cannot listen leaves an earlier one its place") {
    val checkpoint = fresh()
    Using.resource(new IngestRun(checkpoint, Map.empty)) { first =>
      def begun(run: IngestRun): Unit =
        RealTime.stream(run.source, run.initial, Clock.systemUTC(), None) match {
          case stream: SupportsRealTimeMode =>
            stream.prepareForRealTimeMode()
            stream.planInputPartitions(position(0)): Unit
          case other => fail(s"$other")
        }
      Using.resource(new IngestRun(checkpoint, Map("port" -> first.port.toString), begins = false)) { second =>
        assert(intercept[EpochalException](begun(second)).condition == Conditions.PortUnavailable)
        assert(!Files.exists(checkpoint.resolve("real-time")))
      }
      val port = Ports.free()
      Using.resource(new IngestRun(checkpoint, Map("port" -> port.toString), begins = false)) { third =>
        begun(third)
        assert(Files.exists(checkpoint.resolve("real-time")))
      }
    }
  }

  test("the end of the application frees the port") {
    val port = Ports.free()
    Using.resource(new IngestRun(fresh(), Map("port" -> port.toString))) { run =>
      run.source.applicationEnded()
      assertFree(port)
      intercept[InterruptedException](run.source.open(IngestPosition(0), IngestPosition(0)))
    }
  }

  test("a stream that is stopped before its first batch has taken neither port nor journal") {
    val (checkpoint, port) = (fresh(), Ports.free())
    Using.resource(new IngestRun(checkpoint, Map("port" -> port.toString))) { first =>
      new IngestRun(checkpoint, Map("port" -> port.toString), begins = false).close()
      assert(store(first.source.receiver.intake, Seq("a")) == Receipt.Stored(1))
    }
    assertFree(port)
  }

  test("acknowledged rows are delivered, though a power failure has zeroed the first offset") {
    val checkpoint = fresh()
    Using.resource(new IngestRun(checkpoint, Map.empty)) { run =>
      run.stream.initialOffset(): Unit
      assert(store(run.source.receiver.intake, Seq("a")) == Receipt.Stored(1))
    }
    Files.write(checkpoint.resolve("initial-offset"), new Array[Byte](100)): Unit
    Using.resource(new IngestRun(checkpoint, Map.empty, begins = false)) { run =>
      val start = run.stream.initialOffset()
      assert(start == position(0) && run.stream.latestOffset(start, run.source.limit) == position(1))
      assert(run.values() == Seq("a"))
    }
  }

  test(
    "acknowledged rows are delivered before the error that ended the intake or the listener, also by a bounded run") {
    def fail(run: IngestRun): Unit = {
      Failpoints.arm("journal.written=fatal")
      try assert(store(run.source.receiver.intake, Seq("c")).isInstanceOf[Receipt.Failed])
      finally Failpoints.disarm()
    }
    Seq(true, false).foreach { bounded =>
      Using.resource(new IngestRun(fresh(), Map.empty)) { run =>
        assert(store(run.source.receiver.intake, Seq("a", "b")) == Receipt.Stored(2))
        if (bounded) run.stream.prepareForTriggerAvailableNow()
        fail(run)
        def end(start: Long) = run.stream.latestOffset(position(start), run.source.limit)
        assert(end(0) == position(2) && run.values() == Seq("a", "b"))
        val error = intercept[EpochalException](end(2))
        assert(error.condition == Conditions.JournalUnwritable && error.getMessage.contains("journal.written"))
      }
    }
  }

  test("a run whose journal cannot be written frees the port") {
    val (checkpoint, port) = (fresh(), Ports.free())
    Files.createDirectories(checkpoint): Unit
    Files.writeString(checkpoint.resolve("ingest"), "not a directory"): Unit
    val failed = intercept[EpochalException](new IngestRun(checkpoint, Map("port" -> port.toString)))
    assert(failed.condition == Conditions.JournalUnwritable)
    assertFree(port)
  }
}
