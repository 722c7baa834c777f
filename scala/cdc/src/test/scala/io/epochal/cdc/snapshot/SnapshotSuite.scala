package io.epochal.cdc.snapshot

import java.sql.DriverManager
import java.util.concurrent.{CompletableFuture, TimeUnit}

import scala.util.Using

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Minutes, Span}

import io.epochal.cdc.change._
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.PostgresServer
import io.epochal.support.NetworkProxy

/** Snapshots of several tables, one after the other, that die in any of them. */
final class SnapshotSuite extends SnapshotRuns(PostgresServer.url) with Eventually {
  import SnapshotRuns._

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(1, Minutes), interval = Span(20, Millis))

  override protected def create(): Unit = execute(
    "CREATE TABLE orders (id int PRIMARY KEY, flag boolean, code char(4), at inet, note text)",
    "INSERT INTO orders SELECT i, i % 2 = 0, 'c' || i, ('10.0.0.' || i)::inet, NULLIF('note ' || i, 'note 3') FROM generate_series(1, 3) i",
    "CREATE TABLE empty (id int PRIMARY KEY)",
    "CREATE TABLE items (id uuid PRIMARY KEY, price numeric, tags text[])",
    "INSERT INTO items SELECT md5(i::text)::uuid, i / 8.0, ARRAY['a', 'b ' || i] FROM generate_series(1, 2) i",
    "CREATE TABLE keyless (note text)",
    "INSERT INTO keyless VALUES ('a'), ('b')"
  )

  private def expected(tables: String*): Seq[(String, String)] =
    tables.flatMap(table =>
      query(s"SELECT row_to_json(x)::text FROM $table x").map(row => s"public.$table" -> row.head.toString))

  on("each table is copied once, with versions that rise from one to the next, after a death in either") {
    val all = "orders,empty,items"
    val whole = new Journal
    run(all, whole)
    assert(whole.rows.sorted == expected("orders", "items").sorted)
    assert(whole.rows.map(_._1) == whole.rows.map(_._1).sorted.reverse)
    assert(whole.ordinals == (0 until 5))
    Seq(2, whole.frames.size).foreach { death =>
      val journal = new Journal
      intercept[Death](run(all, journal, death))
      run(all, journal)
      assert(journal.rows.sorted == whole.rows.sorted, s"died at frame $death")
      assert(journal.ordinals == (0 until 5))
    }
  }

  on("a table without a key is copied at once, and not continued") {
    val journal = new Journal
    run("keyless,orders", journal)
    assert(journal.rows.sorted == expected("keyless", "orders").sorted)
    // The first table is complete.
    val resumed = new Journal
    intercept[Death](run("keyless,orders", resumed, deathAt = 2))
    run("keyless,orders", resumed)
    assert(resumed.rows.sorted == journal.rows.sorted)

    val (snapshots, origin) = setup("keyless,orders")
    val state = ChangeState.Empty.withSnapshot(
      origin.tables("public.keyless").toInt,
      SnapshotState(1, 0, Nil, Seq(ServerSnapshot("1:1:", 0)), Map(0 -> RangeState(Seq(0 -> Some(Nil))))))
    val error = intercept[EpochalException](snapshots.copy(state, _ => (), () => ())(_ => ()))
    assert(error.condition == Conditions.SnapshotInterrupted && error.values("table") == "public.keyless")
  }

  on("a transaction that ends while a snapshot begins has its rows in it, and one that runs on delays it little") {
    created
    Seq(true, false).foreach { ends =>
      Using.resource(DriverManager.getConnection(connection.getMetaData.getURL)) { other =>
        other.setAutoCommit(false)
        other.createStatement().execute("INSERT INTO keyless VALUES ('late')")
        val commit = new Thread(() => { Thread.sleep(300); other.commit() })
        if (ends) commit.start()
        val journal = new Journal
        run("keyless,orders", journal)
        assert(journal.rows.count(_._2.contains("late")) == (if (ends) 1 else 0))
        commit.join()
        other.rollback()
      }
      execute("DELETE FROM keyless WHERE note = 'late'")
    }
  }

  on("a snapshot of 2,000 rows takes 34 round trips over 4 connections") {
    created
    execute(
      "CREATE TABLE far (id int PRIMARY KEY, note text)",
      "INSERT INTO far SELECT i, 'note ' || i FROM generate_series(1, 2000) i",
      "ANALYZE far")
    val direct = connection.getMetaData.getURL
    val Port = "//[^/:]+:(\\d+)/".r.unanchored
    val Port(port) = direct: @unchecked
    Using.resource(new NetworkProxy(port.toInt)) { proxy =>
      val (snapshots, _) = setup("far", url = proxy.url(direct), threads = 2)
      // A snapshot asks once more while a transaction of another suite runs on the server.
      val counts = (1 to 5).map { _ =>
        val journal = new Journal
        proxy.roundTrips(): Unit
        proxy.connections(): Unit
        snapshots.copy(ChangeState.Empty, frame => journal.frames += frame.payload.toArray: Unit, () => ())(_ => ())
        val parts = journal.frames.flatMap(frame => new FrameReader(frame, frame.length).parts)
        assert(parts.map(_.rows).sum == 2000)
        (proxy.roundTrips(), proxy.connections())
      }
      val (trips, connections) = counts.min
      assert(trips <= 34 && connections <= 4, s"$trips round trips over $connections connections")
    }
  }

  on("an interrupt ends the statements of a snapshot") {
    val url = connection.getMetaData.getURL
    Using.resource(DriverManager.getConnection(url)) { other =>
      other.setAutoCommit(false)
      other.createStatement().execute("LOCK TABLE keyless")
      val ended = new CompletableFuture[Unit]
      val runner = new Thread(() =>
        try run("keyless", new Journal)
        catch { case _: InterruptedException => ended.complete(()): Unit })
      runner.start()
      def waiting =
        query("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
      eventually(assert(waiting.size == 1))
      runner.interrupt()
      ended.get(15, TimeUnit.SECONDS)
      eventually(assert(waiting.isEmpty))
    }
  }

  on("rows are stored once the log up to their snapshot is on the server's disk") {
    val (snapshots, _) = setup("keyless")
    val state = ChangeState.Empty
    val append = (frame: ChangeFrame) => {
      val after = frame.after
      val flushed = query("SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint").head.head.asInstanceOf[Long]
      assert(after.runs.nonEmpty && after.runs.forall(_.lsn <= flushed)): Unit
    }
    // The server's own writer has just been awake.
    execute("ALTER SYSTEM SET wal_writer_delay = '10s'", "SELECT pg_reload_conf()", "SELECT pg_sleep(0.3)")
    try {
      execute("SELECT pg_logical_emit_message(false, 'test', 'in memory')")
      snapshots.copy(state, append, () => ())(_ => ())
    } finally execute("ALTER SYSTEM RESET wal_writer_delay", "SELECT pg_reload_conf()")
  }
}
