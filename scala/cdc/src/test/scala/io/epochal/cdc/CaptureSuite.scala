package io.epochal.cdc

import scala.collection.mutable

import io.epochal.cdc.change.{CommittedTransaction, FrameReader, StoredTransaction}
import io.epochal.cdc.value.ServerSuite
import io.epochal.core.error.Conditions
import io.epochal.core.failpoint.Failpoints
import io.epochal.jdbc.PostgresServer
import io.epochal.kit.database.Sql

/** A capture without a query: its looks at the slot, and its metrics. */
final class CaptureSuite extends ServerSuite("PostgreSQL", PostgresServer.url) with Captures {

  on("progress has the snapshot's part and its end, then the lag of the slot") {
    create("followed")
    capture("followed", "maxJournalBytes" -> "1k")(()) { capture =>
      eventually(assert(number(capture, "snapshotRows") > 0))
      assert(capture.metrics("snapshotTables") == "1" && capture.metrics("snapshotTablesLeft") == "1")
      assert(number(capture, "snapshotRows") < 20000)
      assert(math.abs(number(capture, "snapshotRowsExpected") - 20000) < 5000)
      assert(number(capture, "snapshotSecondsLeft") > 0)
      assert(number(capture, "slotLagSeconds").isNaN)

      def delivered(): Unit = capture.deliveredUntil(capture.journal.until)
      eventually {
        delivered()
        assert(capture.metrics("snapshotTablesLeft") == "0")
      }
      assert(number(capture, "snapshotRows") == 20000 && number(capture, "snapshotRowsExpected") == 20000)
      assert(number(capture, "snapshotSecondsLeft") == 0)
      eventually {
        delivered()
        assert(number(capture, "slotLagBytes") == 0 && number(capture, "slotLagSeconds") == 0)
      }
      assert(number(capture, "retainedWalBytes") > 0 && number(capture, "safeWalBytes").isNaN)
      assert(capture.metrics("walStatus") == "reserved")

      // Nothing is delivered: the journal is full, and the slot falls behind.
      execute("UPDATE followed SET note = note || 'y'", "UPDATE followed SET note = note || 'z'")
      eventually(assert(number(capture, "slotLagBytes") > 1000000 && number(capture, "slotLagSeconds") > 0.2))
    }
  }

  on("the lag of a replica grows from the commit in the source until the change is stored, over a restart too") {
    create("lagging", rows = 1)
    captures("lagging")(()) { next =>
      def lag(capture: Capture) = number(capture, "replicaLagSeconds")
      val first = next()
      eventually {
        first.deliveredUntil(first.journal.until)
        assert(lag(first) == 0)
      }
      val row = first.journal.until
      execute("INSERT INTO lagging VALUES (2, 'a')")
      eventually(assert(first.journal.until == row + 1))
      Thread.sleep(1500)
      execute("INSERT INTO lagging VALUES (3, 'a')")
      eventually(assert(first.journal.until == row + 2))
      // All is received, and the lag grows nevertheless.
      eventually(assert(number(first, "slotLagBytes") == 0 && lag(first) >= 1.5))
      val second = next()
      second.deliveredUntil(row)
      eventually(assert(number(second, "slotLagSeconds") == 0 && lag(second) >= 1.5))
      val before = lag(second)
      second.deliveredUntil(row + 1)
      assert(lag(second) < before - 1)
      second.deliveredUntil(row + 2)
      eventually(assert(lag(second) == 0))
    }
  }

  on("a heartbeat notes until when all changes are stored, also while a change waits, and a stop does") {
    create("noted", rows = 1)
    def serverMicros() =
      Sql.query(connection, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")(_.getLong(1)).head
    captures("noted", "heartbeatInterval" -> "1s")(()) { next =>
      val first = next()
      eventually {
        first.deliveredUntil(first.journal.until)
        assert(number(first, "replicaLagSeconds") == 0)
      }
      val begin = serverMicros()
      eventually(assert(storedUntil("noted").exists(_ > begin)))
      val row = first.journal.until
      execute("INSERT INTO noted VALUES (2, 'a')")
      eventually(assert(first.journal.until == row + 1))
      val end = serverMicros()
      eventually(assert(serverMicros() - end > 2500000))
      val waiting = storedUntil("noted").get
      assert(begin < waiting && waiting < end)
      first.deliveredUntil(row + 1)
      val stop = serverMicros()
      eventually(assert(number(first, "slotLagSeconds") == 0))
      first.close()
      assert(storedUntil("noted").exists(_ > waiting))
      assert(storedUntil("noted").exists(_ > stop - 2000000))
    }
  }

  test("a change waits since the time of its frame, or since the journal's for a row of an earlier run") {
    val readRows = mutable.Buffer.empty[Long]
    val waiting = new WaitingChanges(
      10,
      wholeRow = Some(10),
      row => {
        readRows += row
        Option.when(row > 2)(row * 100)
      })
    waiting.add(15, Seq(part(1, rows = 5, committedAt = 2000)))
    waiting.add(20, Seq(part(2, rows = 5, committedAt = 3000)))
    val times = Seq(2L, 5L, 5L, 10L, 14L, 15L, 20L).map(waiting.oldest(_))
    assert(times.map(_.flatten) == Seq(None, Some(500L), Some(500L), Some(2000L), Some(2000L), Some(3000L), None))
    assert(times.head.nonEmpty && times.last.isEmpty)
    assert(readRows == Seq(2L, 5L))
  }

  test("a batch can end with the last whole transaction, wherever frames end") {
    def ends(wholeRow: Long)(frames: Seq[FrameReader.Part]*): Seq[Long] = {
      val waiting = new WaitingChanges(10, Some(wholeRow), _ => None)
      val rows = frames.scanLeft(10L)(_ + _.map(_.rows).sum).tail
      waiting.deliverableUntil(0, isFull = false, hasEnded = false) +: frames.zip(rows).map { case (parts, until) =>
        waiting.add(until, parts)
        waiting.deliverableUntil(0, isFull = false, hasEnded = false)
      }
    }
    val begin = part(2, 3, isComplete = false)
    val (middle, end) = (part(2, 4, first = 3, isComplete = false), part(2, 2, first = 7))
    assert(ends(10)(Seq(part(1, 5), begin), Seq(middle), Seq(end, part(3, 1))) == Seq(10, 15, 15, 25))
    assert(ends(10)(Seq(begin), Seq(end, part(3, 6, isComplete = false))) == Seq(10, 10, 15))
    assert(ends(7)(Seq(middle), Seq(end, begin)) == Seq(7, 7, 16))
    // The end of the last transaction has brought no frame.
    assert(ends(7)(Seq(begin)) == Seq(7, 10))
    // Of a snapshot each row counts alone.
    assert(ends(10)(Seq(part(0, 3, isComplete = false)), Seq(begin)) == Seq(10, 13, 13))
    val waiting = new WaitingChanges(10, wholeRow = Some(7), _ => None)
    waiting.add(14, Seq(middle))
    assert(Seq(6L, 7L).map(waiting.deliverableUntil(_, isFull = true, hasEnded = false)) == Seq(7, 14))
    assert(waiting.deliverableUntil(7, isFull = false, hasEnded = true) == 7)
    waiting.end()
    assert(waiting.deliverableUntil(7, isFull = false, hasEnded = false) == 14)
    // It began in a segment that is gone: after an error its rows are delivered as they are, until another one has ended.
    val unknown = new WaitingChanges(10, wholeRow = None, _ => None)
    def deliverable(hasEnded: Boolean) = unknown.deliverableUntil(5, isFull = false, hasEnded)
    unknown.add(14, Seq(middle))
    assert((deliverable(hasEnded = false), deliverable(hasEnded = true)) == (0L, 14L))
    unknown.add(20, Seq(part(2, 1, first = 7), part(3, 5, isComplete = false)))
    assert((deliverable(hasEnded = false), deliverable(hasEnded = true)) == (15L, 15L))
  }

  test("a comparison is a batch of its own, whatever its frames have beside it") {
    def waiting(frames: Seq[FrameReader.Part]*): WaitingChanges = {
      val waiting = new WaitingChanges(10, wholeRow = Some(10), _ => None)
      frames.foldLeft(10L) { (from, parts) =>
        val until = from + parts.map(_.rows).sum
        waiting.add(until, parts)
        until
      }: Unit
      waiting
    }
    def compared(rows: Int, first: Long = 0, isComplete: Boolean = true) =
      part(2, rows, first, isComplete).copy(isComparison = true)
    def batches(waiting: WaitingChanges) = Seq(10L, 12L, 17L).map(row => (waiting.most(row), waiting.least(row)))
    val alone = Seq((2L, 0L), (5L, 5L), (Long.MaxValue, 0L))
    assert(batches(waiting(Seq(part(1, 2), compared(5), part(3, 3), part(4, 4, isComplete = false)))) == alone)
    assert(
      batches(
        waiting(Seq(part(1, 2), compared(3, isComplete = false)), Seq(compared(2, first = 3), part(3, 1)))) == alone)
    // Its end has brought no frame; then another transaction, or none, shows that it has all rows.
    val open = waiting(Seq(part(1, 2), compared(5, isComplete = false)))
    assert(batches(open) == Seq(10L, 12L, 17L).map(_ => (Long.MaxValue, 0L)))
    open.end()
    assert(batches(open) == alone && open.deliverableUntil(12, isFull = false, hasEnded = false) == 17)
    assert(batches(waiting(Seq(part(1, 2), compared(5, isComplete = false)), Seq(part(3, 3)))) == alone)
    // After a restart only the end of a comparison is known.
    assert(batches(waiting(Seq(compared(5, first = 3), part(3, 1)))) == Seq.fill(3)((Long.MaxValue, 0L)))
    open.drop(17)
    assert(open.least(12) == 0L)
  }

  private def part(
      xid: Int,
      rows: Int,
      first: Long = 0,
      isComplete: Boolean = true,
      committedAt: Long = 0): FrameReader.Part =
    FrameReader.Part(
      StoredTransaction(CommittedTransaction(xid.toLong, xid, committedAt, committedAt), first + rows, 0, isComplete),
      first,
      rows,
      changes = 0,
      length = 0)

  on("a transaction that arrives in parts is delivered when it has ended, or when the journal is full of it") {
    Seq("100m" -> false, "2m" -> true).foreach { case (bytes, isCut) =>
      val table = s"parted_$bytes"
      create(table, rows = 1)
      captures(table, "maxJournalBytes" -> bytes)(()) { next =>
        val first = next()
        eventually(assert(first.metrics("snapshotTablesLeft") == "0"))
        val begin = first.journal.until
        first.deliveredUntil(begin)
        var ends = Set.empty[Long]
        execute(s"INSERT INTO $table SELECT i, repeat('x', 1000) FROM generate_series(1, 20000) i")
        eventually {
          val delivered = (begin +: ends.toSeq).max
          first.deliveredUntil(delivered)
          ends += first.deliverableUntil(delivered)
          assert(ends.max == begin + 20000)
        }
        assert(first.journal.until == begin + 20000)
        assert((ends - begin - (begin + 20000)).nonEmpty == isCut)
      }
    }
  }

  on("a run that finds a part of a transaction delivers it with the rest, also if the rest has no rows") {
    create("resumed", rows = 1)
    captures("resumed")(()) { next =>
      val first = next()
      eventually(assert(first.metrics("snapshotTablesLeft") == "0"))
      val begin = first.journal.until
      first.deliveredUntil(begin)
      execute("INSERT INTO resumed SELECT i, repeat('x', 1000) FROM generate_series(1, 20000) i")
      eventually(assert(first.journal.until > begin))
      val second = next()
      eventually {
        second.deliveredUntil(begin)
        assert(Set(begin, begin + 20000)(second.deliverableUntil(0)))
        assert(second.deliverableUntil(0) == begin + 20000)
      }
    }
  }

  on("maxSlotLag ends the snapshot") {
    create("waiting")
    capture("waiting", "maxJournalBytes" -> "1k", "maxSlotLag" -> "1m")(()) { capture =>
      eventually(assert(capture.journal.until > 0))
      log(2000000)
      eventually(assert(capture.ended.exists(_.condition == Conditions.SlotLagExceeded)))
      assert(capture.metrics("snapshotTablesLeft") == "1")
    }
  }

  Seq("capture.range" -> "copies rows", "capture.changes" -> "stores changes").foreach { case (step, work) =>
    val table = s"fatal_${step.replaceAll(".*[.]", "")}"
    on(s"an error of the JVM in a thread that $work ends the capture by name") {
      create(table, rows = 10)
      capture(table)(Failpoints.arm(s"$step=fatal")) { capture =>
        try {
          // Else the snapshot may have the row.
          eventually(assert(capture.ended.nonEmpty || capture.metrics("snapshotTablesLeft") == "0"))
          execute(s"INSERT INTO $table VALUES (0, 'new')")
          eventually(assert(capture.ended.exists(_.condition == Conditions.FeedFailed)))
          assert(capture.ended.get.getMessage.contains(s"LinkageError: failpoint $step"))
        } finally Failpoints.disarm()
      }
    }
  }

  on("the end of a snapshot is known from the pace of this run, once it has copied rows") {
    val begun = SnapshotProgress(tables = 2, left = 2, rows = 100, before = 100, total = Some(1000), seconds = 5)
    assert(begun.secondsLeft.isNaN)
    assert(begun.copy(rows = 200).secondsLeft == 40)
    assert(begun.copy(rows = 200, total = None).secondsLeft.isNaN)
    // The estimate was too low.
    assert(begun.copy(rows = 2000).metrics("snapshotRowsExpected") == "2000")
    assert(begun.copy(rows = 2000).secondsLeft == 0)
    assert(begun.copy(rows = 800, left = 0).metrics("snapshotRowsExpected") == "800")
  }
}
