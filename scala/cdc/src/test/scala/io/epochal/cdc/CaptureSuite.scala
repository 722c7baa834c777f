package io.epochal.cdc

import java.nio.file.Files
import java.util.Comparator

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Minutes, Span}

import io.epochal.cdc.value.ServerSuite
import io.epochal.core.error.Conditions
import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.jdbc.PostgresServer
import io.epochal.kit.source.journal.JournalFaults
import io.epochal.kit.store.HadoopFileStore

/** A capture without a query: its looks at the slot, and its metrics. */
final class CaptureSuite extends ServerSuite("PostgreSQL", PostgresServer.url) with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(1, Minutes), interval = Span(20, Millis))

  /** More rows than a frame has, in one range: without a key the table is not divided. */
  private def create(table: String, rows: Int = 20000): Unit = execute(
    s"CREATE TABLE $table (id int, note text)",
    s"ALTER TABLE $table REPLICA IDENTITY FULL",
    s"INSERT INTO $table SELECT i, repeat('x', 200) FROM generate_series(1, $rows) i",
    s"ANALYZE $table"
  )

  /** @param begun
    *   run between the creation of the slot and the start
    */
  private def capture(table: String, more: (String, String)*)(begun: => Unit)(body: Capture => Any): Unit = {
    val directory = Files.createTempDirectory("epochal-capture")
    val slot = s"capture_${ProcessHandle.current.pid}_$table"
    val named = Map("url" -> connection.getMetaData.getURL, "dbtable" -> table, "slot" -> slot)
    val options = CdcOptions.read(named + ("heartbeatInterval" -> "50ms") ++ more).fold(throw _, identity)
    val tables = CdcTables.find(options)
    val setup = new CdcSetup(options, options.server, directory.toString, tables, binary = false, threads = 2)
    val store = new HadoopFileStore(directory.toString, new Configuration)
    val journal = AcknowledgedJournal.take(store, store.below("runs"), options.source)
    val faults = new JournalFaults(CdcOptions.Format, options.source, store.toString)
    val capture = new Capture(options, setup, setup.begin(), journal, store, faults, None)
    begun
    capture.start()
    try { body(capture); () }
    finally {
      capture.close()
      eventually(execute(s"SELECT pg_drop_replication_slot('$slot')"))
      Using.resource(Files.walk(directory))(_.sorted(Comparator.reverseOrder()).forEach(Files.delete(_)))
    }
  }

  private def log(bytes: Int): Unit = execute(s"SELECT pg_logical_emit_message(false, 'test', repeat('x', $bytes))")

  private def number(capture: Capture, name: String): Double = capture.metrics(name).toDouble

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

  on("the end of a snapshot is known from the pace of this run, once it has copied rows") {
    val begun = SnapshotProgress(tables = 2, left = 2, rows = 100, before = 100, expected = Some(1000), seconds = 5)
    assert(begun.secondsLeft.isNaN)
    assert(begun.copy(rows = 200).secondsLeft == 40)
    assert(begun.copy(rows = 200, expected = None).secondsLeft.isNaN)
    // The estimate was too low.
    assert(begun.copy(rows = 2000).metrics("snapshotRowsExpected") == "2000")
    assert(begun.copy(rows = 2000).secondsLeft == 0)
    assert(begun.copy(rows = 800, left = 0).metrics("snapshotRowsExpected") == "800")
  }
}
