package io.epochal.kit.source

import java.time.Instant

import org.apache.spark.sql.connector.read.InputPartition
import org.scalatest.funsuite.AnyFunSuite

final class StreamLagSuite extends AnyFunSuite {

  /** Positions are numbers of rows. */
  final private class Rows extends Supply[Long] {
    var found: Option[Extent] = None
    override def known: Option[Extent] = found
    override def available(start: Long, most: Long): Long = 0
    override def take(start: Long, rows: Long): Long = start + rows
    override def partitions(start: Long, end: Long): Array[InputPartition] = Array.empty
    override def rowsBefore(position: Long): Long = position
    override def latest: Option[Long] = None
    override def release(end: Long): Unit = ()
  }

  private def using(body: (Rows, StreamLag[Long], ManualClock) => Any): Unit = {
    val (rows, clock) = (new Rows, new ManualClock(Instant.EPOCH))
    body(rows, new StreamLag(rows, clock), clock): Unit
  }

  test("before the first poll nothing is known except how long it takes") {
    using { (_, lag, clock) =>
      clock.advance(7)
      assert(lag.now.isEmpty && lag.totalRows == 0 && lag.secondsSincePoll == 7)
    }
  }

  test("the time since the end was last reached grows while rows wait, and is 0 at the end") {
    using { (rows, lag, clock) =>
      rows.found = Some(Extent(10, 10))
      lag.polled(10, clock.instant())
      assert(lag.now.contains(Lag(Some(0), exact = true, Some(0))))
      rows.found = Some(Extent(25))
      clock.advance(5)
      assert(lag.now.contains(Lag(Some(15), exact = false, Some(5))) && lag.secondsSincePoll == 5)
      clock.advance(60)
      assert(lag.now.contains(Lag(Some(15), exact = false, Some(65))) && lag.secondsSincePoll == 65)
      rows.found = Some(Extent(25, 25))
      lag.reached(25)
      assert(lag.now.contains(Lag(Some(0), exact = true, Some(0))))
    }
  }

  test("while the end is unknown, the number of rows is omitted if no row is known") {
    using { (rows, lag, clock) =>
      rows.found = Some(Extent(10))
      lag.polled(10, clock.instant())
      assert(lag.now.contains(Lag(None, exact = false, None)))
    }
  }

  test("delivered rows are counted once each, from the first position of the run") {
    using { (_, lag, _) =>
      lag.begin(100)
      lag.reached(110)
      lag.begin(110)
      lag.reached(110)
      lag.reached(130)
      assert(lag.totalRows == 30)
    }
  }
}
