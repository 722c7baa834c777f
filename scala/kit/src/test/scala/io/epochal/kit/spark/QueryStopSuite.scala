package io.epochal.kit.spark

import java.io.{IOException, InterruptedIOException}
import java.net.SocketTimeoutException
import java.nio.channels.ClosedByInterruptException
import java.sql.SQLException
import java.util.concurrent.{CancellationException, CountDownLatch, TimeUnit}

import org.apache.hc.core5.http.ConnectionRequestTimeoutException
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.test.QuerySuite

import io.epochal.core.error.{Conditions, EpochalException}

/** Interruptions in the forms in which they reach Spark. */
final class QueryStopSuite extends QuerySuite {

  private def unwritable(cause: Throwable) =
    Conditions.JournalUnwritable.because(cause)("source" -> "s", "path" -> "p", "reason" -> "r")

  test("a failure with an interrupt among its causes reaches Spark as an InterruptedException with that cause") {
    Seq[Exception](
      new CancellationException("Request execution cancelled"),
      new SQLException("Interrupted during connection acquisition", new InterruptedException),
      unwritable(new ClosedByInterruptException),
      unwritable(new IOException(new InterruptedIOException))
    ).foreach { failure =>
      val stop = intercept[InterruptedException](QueryStop.guard(throw failure))
      assert(stop.getCause eq failure)
    }
  }

  test("a failure in an interrupted thread becomes that interruption, whichever exception it is") {
    Thread.currentThread().interrupt()
    try {
      val _ = intercept[InterruptedException](QueryStop.guard(throw new SQLException("broken pipe")))
    } finally { val _ = Thread.interrupted() }
  }

  test("a timeout, and any failure without a stop, stay unchanged") {
    Seq[Exception](
      unwritable(new SocketTimeoutException),
      unwritable(new ConnectionRequestTimeoutException("Timeout deadline: 1000 MILLISECONDS")),
      new SQLException("gone"),
      new IOException("full")
    ).foreach { failure =>
      val thrown = intercept[Exception](QueryStop.guard(throw failure))
      assert(thrown eq failure)
    }
  }

  test("a driver that swallows the interrupt and hides it does not make a stopped query FAILED") {
    val waits = new CountDownLatch(1)
    val query = spark.readStream
      .format("rate")
      .load()
      .writeStream
      .foreachBatch { (_: DataFrame, _: Long) =>
        QueryStop.guard {
          waits.countDown()
          try Thread.sleep(60000)
          catch { case _: InterruptedException => throw new SQLException("the connection is closed", "08006") }
        }
      }
      .start()
    assert(waits.await(60, TimeUnit.SECONDS))
    query.stop()
    assert(query.exception.isEmpty)
  }

  test("a query that fails by itself keeps its failure") {
    val query = spark.readStream
      .format("rate")
      .load()
      .writeStream
      .foreachBatch((_: DataFrame, _: Long) => QueryStop.guard[Unit](throw unwritable(new IOException("full"))))
      .start()
    val error = intercept[Exception](query.awaitTermination(60000))
    assert(EpochalException.in(error).exists(_.condition.name == "JOURNAL_UNWRITABLE"))
  }
}
