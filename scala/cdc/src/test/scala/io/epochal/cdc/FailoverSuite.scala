package io.epochal.cdc

import java.sql.DriverManager

import scala.util.Using

import org.apache.spark.sql.DataFrame
import org.scalatest.tagobjects.Slow
import org.scalatest.time.{Millis, Minutes, Span}

import io.epochal.cdc.slot.ServerFacts
import io.epochal.core.error.{Condition, Conditions}
import io.epochal.jdbc.{PostgresNode, PostgresServer, TestServer}

/** Queries whose server is replaced by its standby, or by an older copy of itself. */
final class FailoverSuite extends CdcQueries {
  private def node(): PostgresNode = PostgresServer.node().fold(TestServer.missing("postgres"), identity)

  private def read(url: String, options: (String, String)*): DataFrame = spark.readStream
    .format("epochal-cdc")
    .options(
      Map(
        "url" -> url,
        "dbtable" -> "orders",
        "slot" -> "orders",
        "sourceId" -> "orders",
        "heartbeatInterval" -> "100ms",
        "numPartitions" -> "1") ++ options)
    .load()

  private def hasSlot(node: PostgresNode, condition: String): Boolean =
    node.text(s"SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'orders' AND $condition") == "1"

  private def numbers(name: String): Seq[Any] = changes(name).map(_._2)

  private val Syncing = "sync_replication_slots=on"

  /** A primary with the table `orders`, and its standby. */
  final private class Pair(settings: String*) extends AutoCloseable {
    val primary: PostgresNode = node()
    assume(primary.text("SHOW server_version_num").toInt >= 170000, "failover slots")
    primary.run("CREATE TABLE orders (id int PRIMARY KEY, note text)")
    val standby: PostgresNode = primary.standby("standby", "hot_standby_feedback=on" +: settings: _*)
    standby.start()

    /** Whichever accepts changes. */
    val url: String = primary.url.replace(
      s":${primary.port}/",
      s":${primary.port},127.0.0.1:${standby.port}/") + "&targetServerType=primary&hostRecheckSeconds=0"

    /** Waits until the standby has the slot for good: the slot must have moved since the standby has seen it first. */
    def sync(): Unit = eventually(timeout(Span(1, Minutes)), interval(Span(100, Millis))) {
      primary.run("SELECT pg_log_standby_snapshot()")
      assert(hasSlot(standby, "synced AND NOT temporary"))
    }

    def promote(): Unit = standby.run("SELECT pg_promote()")

    override def close(): Unit = Seq(standby, primary).foreach(_.close())
  }

  test("a query continues on the promoted standby, with each change once") {
    Using.resource(new Pair(Syncing)) { pair =>
      import pair._
      withTempDir { dir =>
        primary.run("SELECT pg_create_logical_replication_slot('orders', 'pgoutput')")
        primary.run("INSERT INTO orders VALUES (1, 'snapshot')")
        stopped(start(read(url), "cdc_failover", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(numbers("cdc_failover") == Seq(1)))
          assert(hasSlot(primary, "failover"))
          sync()
          primary.run("ALTER SYSTEM SET synchronized_standby_slots = standby", "SELECT pg_reload_conf()")
          primary.run("INSERT INTO orders VALUES (2, 'primary')")
          until(query)(assert(numbers("cdc_failover") == Seq(1, 2)))
          primary.stop()
          promote()
          standby.run("INSERT INTO orders VALUES (3, 'promoted')")
          until(query)(assert(numbers("cdc_failover") == Seq(1, 2, 3)))
          query.processAllAvailable()
        }
        standby.run("INSERT INTO orders VALUES (4, 'later')")
        stopped(start(read(url), "cdc_failover_restart", dir.toString)) {
          until(spark.streams.active.head)(assert(numbers("cdc_failover_restart") == Seq(4)))
        }
      }
    }
  }

  test("while a standby is far behind, no table is compared or reloaded") {
    Using.Manager { use =>
      val primary = use(node())
      primary.run("CREATE TABLE orders (id int PRIMARY KEY, note text)", "INSERT INTO orders VALUES (1, 'a')")
      val standby = use(primary.standby("standby"))
      standby.start()
      withTempDir { dir =>
        val options = Seq("maxStandbyLag" -> "1m", "verify" -> "compare", "onTruncate" -> "emit")
        stopped(start(read(primary.url, options: _*), "cdc_paused", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(changes("cdc_paused").size == 1))
          standby.run("SELECT pg_wal_replay_pause()")
          until(query)(assert(standby.text("SELECT pg_get_wal_replay_pause_state()") == "paused"))
          primary.run(
            "CREATE TABLE other AS SELECT i, repeat('x', 1000) FROM generate_series(1, 2000) i",
            "SELECT pg_logical_emit_message(true, 'epochal', 'verify public.orders')",
            "INSERT INTO orders VALUES (2, 'b')")
          until(query)(assert(changes("cdc_paused").size == 2))
          Thread.sleep(2000)
          assert(changes("cdc_paused").size == 2)
          standby.run("SELECT pg_wal_replay_resume()")
          until(query)(
            assert(changes("cdc_paused").drop(2).map(_._1) == Seq("verify_begin", "verify", "verify", "verify_end")))
        }
      }
      primary.run("CREATE ROLE reader LOGIN REPLICATION", "ALTER TABLE orders OWNER TO reader")
      withTempDir { dir =>
        def run(): Unit = stopped(
          start(
            read(primary.url.replace("user=postgres", "user=reader"), "slot" -> "more", "maxStandbyLag" -> "1m"),
            "cdc_sees",
            dir.toString))(until(spark.streams.active.head)(assert(changes("cdc_sees").size == 2)))
        val Grant = "GRANT pg_read_all_stats TO reader;"
        assert(refused(Conditions.CaptureNotReady)(run()).getMessage.contains(Grant))
        primary.run("GRANT CREATE ON DATABASE postgres TO reader", Grant)
        run()
      }
    }.get
  }

  test("a standby that has not reached its primary yet reports the log that its slots retain") {
    Using.Manager { use =>
      val primary = use(node())
      val standby = use(primary.standby("standby"))
      standby.start()
      standby.run("SELECT pg_create_physical_replication_slot('orders', true)")
      primary.run("CREATE TABLE orders (id int)")
      eventually(timeout(Span(1, Minutes)))(assert(standby.text("SELECT to_regclass('orders')") == "orders"))
      standby.stop()
      primary.stop()
      standby.start()
      // Until then pg_last_wal_receive_lsn is NULL, or the beginning of a segment.
      val replayed = standby.text("SELECT (pg_last_wal_replay_lsn() - '0/0')::bigint").toLong
      val connection = use(DriverManager.getConnection(standby.url))
      assert(
        ServerFacts.slot(connection, "orders").exists(slot => slot.retained.nonEmpty && slot.end.contains(replayed)))
    }.get
  }

  test("a promoted standby that did not have the slot is refused, also once it has one of its own", Slow) {
    Using.resource(new Pair) { pair =>
      import pair._
      withTempDir { dir =>
        stopped(start(read(url), "cdc_unsynced", dir.toString)) {
          primary.run("INSERT INTO orders VALUES (1, 'primary')")
          val query = spark.streams.active.head
          until(query)(assert(numbers("cdc_unsynced") == Seq(1)))
          query.processAllAvailable()
        }
        primary.stop()
        promote()
        standby.run("INSERT INTO orders VALUES (2, 'promoted')")
        def again(): Unit = {
          val error = refused(Conditions.ServerChanged)(
            start(read(url), "cdc_unsynced_again", dir.toString).awaitTermination(60000))
          assert(error.getMessage.contains("another timeline, 2 instead of 1, as a promoted standby or a backup"))
        }
        again()
        standby.run("SELECT pg_create_logical_replication_slot('orders', 'pgoutput', failover => true)")
        again()
        assert(numbers("cdc_unsynced_again").isEmpty)
      }
    }
  }

  test("a promoted standby that lacks delivered transactions is refused, also once its log is longer", Slow) {
    Using.resource(new Pair(Syncing)) { pair =>
      import pair._
      withTempDir { dir =>
        stopped(start(read(url), "cdc_behind", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(query.lastProgress != null))
          assert(hasSlot(primary, "failover"))
          sync()
          standby.stop()
          primary.run("INSERT INTO orders SELECT i, 'lost' FROM generate_series(1, 5000) i")
          until(query)(assert(numbers("cdc_behind").size == 5000))
          query.processAllAvailable()
        }
        primary.stop()
        standby.start()
        promote()
        def again(condition: Condition): String =
          refused(condition)(start(read(url), "cdc_behind_again", dir.toString).awaitTermination(60000)).getMessage
        standby.run("INSERT INTO orders VALUES (-1, 'other')")
        assert(again(Conditions.ServerChanged).contains("a log up to"))
        standby.run("INSERT INTO orders SELECT i, 'other' FROM generate_series(1, 20000) i")
        again(Conditions.SlotMoved)
        assert(numbers("cdc_behind_again").isEmpty)
      }
    }
  }

  test("an older copy of the server is refused, also once it has more transactions than the query", Slow) {
    Using.Manager { use =>
      val original = use(node())
      withTempDir { dir =>
        original.run("CREATE TABLE orders (id int PRIMARY KEY, note text)")
        stopped(start(read(original.url), "cdc_copied", dir.toString)) {
          original.run("INSERT INTO orders VALUES (1, 'before')")
          val query = spark.streams.active.head
          until(query)(assert(numbers("cdc_copied") == Seq(1)))
          query.processAllAvailable()
        }
        original.stop()
        val copy = use(original.copy())
        original.start()
        stopped(start(read(original.url), "cdc_original", dir.toString)) {
          original.run("INSERT INTO orders SELECT i, 'lost' FROM generate_series(2, 5000) i")
          val query = spark.streams.active.head
          until(query)(assert(numbers("cdc_original").size == 4999))
          query.processAllAvailable()
        }
        copy.start()
        def again(condition: Condition) =
          refused(condition)(start(read(copy.url), "cdc_copy", dir.toString).awaitTermination(60000))
        assert(again(Conditions.ServerChanged).values("change").endsWith("as a restored older copy of its files has"))
        copy.run("INSERT INTO orders SELECT i, 'other' FROM generate_series(2, 20000) i")
        again(Conditions.SlotMoved)
        assert(numbers("cdc_copy").isEmpty)
      }
    }.get
  }

  test("a server with the rows, the publication and the slot, as a restored dump has them, is refused", Slow) {
    Using.Manager { use =>
      val (original, other) = (use(node()), use(node()))
      withTempDir { dir =>
        Seq(original, other).foreach(
          _.run(
            "CREATE TABLE orders (id int PRIMARY KEY, note text)",
            "INSERT INTO orders VALUES (1, 'dumped')",
            "CREATE PUBLICATION orders FOR TABLE ONLY orders",
            "SELECT pg_create_logical_replication_slot('orders', 'pgoutput')"
          ))
        stopped(start(read(original.url), "cdc_dumped", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(numbers("cdc_dumped") == Seq(1)))
          query.processAllAvailable()
        }
        other.run("INSERT INTO orders SELECT i, 'other' FROM generate_series(2, 20000) i")
        val error = refused(Conditions.ServerChanged)(
          start(read(other.url), "cdc_restored", dir.toString).awaitTermination(60000))
        assert(error.values("change").startsWith("another system identifier") && numbers("cdc_restored").isEmpty)
      }
    }.get
  }

  test("a restart of the server in mid stream delivers each change once", Slow) {
    Using.resource(node()) { server =>
      withTempDir { dir =>
        server.run("CREATE TABLE orders (id int PRIMARY KEY, note text)")
        stopped(start(read(server.url), "cdc_restarted", dir.toString)) {
          val query = spark.streams.active.head
          (1 to 4).foreach { i =>
            server.run(s"INSERT INTO orders VALUES ($i, 'new')")
            if (i == 2) server.stop() else if (i == 3) server.crash()
            if (i == 2 || i == 3) server.start()
            until(query)(assert(numbers("cdc_restarted") == (1 to i)))
          }
          until(query)(assert(query.lastProgress.sources.head.metrics.get("reconnects").toInt >= 1))
        }
      }
    }
  }

  test("a restart of the server within the snapshot delivers each row once", Slow) {
    Using.resource(node()) { server =>
      withTempDir { dir =>
        server.run(
          "CREATE TABLE orders (id int PRIMARY KEY, note text)",
          "INSERT INTO orders SELECT i, repeat('x', 2000) FROM generate_series(1, 20000) i")
        val rows = read(server.url, "maxJournalBytes" -> "1m", "maxRowsPerBatch" -> "1000")
        stopped(start(rows, "cdc_snapshot_restarted", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(numbers("cdc_snapshot_restarted").size >= 2000))
          server.crash()
          assert(numbers("cdc_snapshot_restarted").size < 20000)
          server.start()
          server.run("INSERT INTO orders VALUES (0, 'later')", "UPDATE orders SET note = '' WHERE id IN (1, 20000)")
          until(query)(assert(numbers("cdc_snapshot_restarted").contains(0)))
          val (inserts, others) = changes("cdc_snapshot_restarted").partition(_._1 == "insert")
          assert(inserts.map(_._2).sortBy(_.toString.toInt) == (0 to 20000))
          assert(others.forall(_._1 == "update_postimage"))
        }
      }
    }
  }
}
