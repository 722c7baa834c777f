package io.epochal.cdc

import io.epochal.cdc.value.ServerSuite
import io.epochal.core.error.Conditions
import io.epochal.core.failpoint.Failpoints
import io.epochal.jdbc.PostgresServer

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
