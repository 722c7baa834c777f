package io.epochal.rest.sink

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.DataWriter
import org.scalatest.concurrent.Eventually._
import org.scalatest.concurrent.PatienceConfiguration
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.epochal.core.error.EpochalException

/** Requests that are sent because they have waited long enough; most tests drive the timer by hand. */
final class FlushIntervalSuite extends AnyFunSuite {

  private val waiting = PatienceConfiguration.Timeout(Span(60, Seconds))
  private val often = PatienceConfiguration.Interval(Span(5, Millis))

  /** A timer that rings when the test says so. */
  final private class TestTimer extends FlushTimer(java.time.Duration.ofDays(1)) {
    private var next = Option.empty[Runnable]
    var closed = false

    override def start(flush: Runnable): Unit = next = Some(flush)
    override def stop(): Unit = next = None
    override def close(): Unit = closed = true

    def isRunning: Boolean = next.isDefined

    /** Simulates the end of the interval. */
    def ring(): Unit = next.foreach(_.run())

    /** The task started last, as run by a thread too late to be stopped. */
    def late: Runnable = next.get
  }

  private def options(on: RestSinkFixture, more: (String, String)*): RestSinkSettings =
    RestSinkSettings
      .read(
        RestSinkFixture
          .options(on.api) ++ Seq("batchSize" -> "3", "flushInterval" -> "1ms", "idempotencyHeader" -> "none") ++ more)
      .fold(throw _, identity)

  private def writing(on: RestSinkFixture, timer: FlushTimer, more: (String, String)*)(
      body: DataWriter[InternalRow] => Any): Unit = {
    val settings = options(on, more: _*)
    val shape = RequestShape.of(on.schema, settings).fold(throw _, identity)
    val whole = settings.http.budget
    val writer = new RestWriter(settings, shape, KeyScope("s", everyEpoch = false), 0, "0", whole, true, Some(timer))
    try body(writer): Unit
    finally writer.close()
  }

  private def sizes(on: RestSinkFixture): Seq[Int] = on.api.requests.map(on.api.rows(_).size)

  test("a waiting request is sent without a next row") {
    RestSinkFixture.using() { on =>
      writing(on, new FlushTimer(java.time.Duration.ofMillis(1))) { writer =>
        writer.write(on.row(0))
        eventually(waiting, often)(assert(on.api.applied == Seq(0L)))
        writer.write(on.row(1))
        eventually(waiting, often)(assert(on.api.applied == Seq(0L, 1L)))
        val message = writer.commit().asInstanceOf[RestTaskMessage]
        assert(message.rows == 2 && on.api.applied == Seq(0L, 1L) && on.api.keys.isEmpty)
      }
    }
  }

  test("the interval begins with the first row of a request, and no timer runs without one") {
    RestSinkFixture.using() { on =>
      val timer = new TestTimer
      writing(on, timer) { writer =>
        assert(!timer.isRunning)
        writer.write(on.row(0))
        writer.write(on.row(1))
        assert(timer.isRunning && on.api.requests.isEmpty)
        timer.ring()
        assert(sizes(on) == Seq(2) && !timer.isRunning)
        (2 until 5).foreach(n => writer.write(on.row(n.toLong)))
        assert(sizes(on) == Seq(2, 3) && !timer.isRunning)
        writer.commit()
        assert(sizes(on) == Seq(2, 3))
      }
      assert(timer.closed)
    }
  }

  test("a late timer leaves the next request alone") {
    RestSinkFixture.using() { on =>
      val timer = new TestTimer
      writing(on, timer) { writer =>
        writer.write(on.row(0))
        val late = timer.late
        writer.write(on.row(1))
        writer.write(on.row(2))
        writer.write(on.row(3))
        late.run()
        assert(sizes(on) == Seq(3))
        timer.ring()
        assert(sizes(on) == Seq(3, 1))
      }
    }
  }

  test("a failure in the timer's request fails the next row, and the commit") {
    RestSinkFixture.using() { on =>
      on.api.answer = _ => Answer(400, "no")
      val timer = new TestTimer
      writing(on, timer) { writer =>
        writer.write(on.row(0))
        timer.ring()
        val atRow = intercept[EpochalException](writer.write(on.row(1)))
        val atCommit = intercept[EpochalException](writer.commit())
        assert(atRow.condition.name == "HTTP_STATUS" && (atRow eq atCommit))
        assert(on.api.requests.size == 1)
      }
    }
  }

  test("rows rejected in the timer's request are dead letters of the task") {
    RestSinkFixture.using() { on =>
      on.api.answer = _ => Answer(422, "no")
      val timer = new TestTimer
      writing(on, timer, "deadLetterPath" -> on.checkpoint.resolve("refused").toString) { writer =>
        writer.write(on.row(0))
        timer.ring()
        writer.write(on.row(1))
        val message = writer.commit().asInstanceOf[RestTaskMessage]
        assert(message.refusedRows.map(_.row).toSeq == Seq(1L, 2L))
      }
    }
  }

  test("a finished task sends nothing more") {
    RestSinkFixture.using() { on =>
      val timer = new TestTimer
      var late = Option.empty[Runnable]
      writing(on, timer) { writer =>
        writer.write(on.row(0))
        late = Some(timer.late)
        writer.abort()
      }
      late.foreach(_.run())
      assert(on.api.requests.isEmpty)
    }
  }

  test("a killed task does not wait for the request that its timer is sending") {
    RestSinkFixture.using() { on =>
      val arrived = new java.util.concurrent.CountDownLatch(1)
      val leave = new java.util.concurrent.CountDownLatch(1)
      on.api.intercept = _ => {
        arrived.countDown()
        leave.await()
        None
      }
      try
        writing(on, new FlushTimer(java.time.Duration.ofMillis(1))) { writer =>
          writer.write(on.row(0))
          arrived.await()
          Thread.currentThread().interrupt()
          intercept[InterruptedException](writer.write(on.row(1)))
        }
      finally leave.countDown()
    }
  }
}
