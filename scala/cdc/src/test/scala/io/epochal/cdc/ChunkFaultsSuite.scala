package io.epochal.cdc

import java.nio.file.Files

import scala.util.{Try, Using}

import org.apache.spark.sql.Row
import org.apache.spark.sql.streaming.StreamingQuery

import io.epochal.core.failpoint.Failpoints
import io.epochal.jdbc.{PostgresServer, TestServer}
import io.epochal.support.Collected

/** Changes and failures between the chunks of a table, or while one is read. */
final class ChunkFaultsSuite extends CdcQueries {
  private val verify = "SELECT pg_logical_emit_message(true, 'epochal', 'verify public.orders')"
  private val quiet = Seq("snapshot" -> "chunks", "chunkRows" -> "2", "onTruncate" -> "emit")
  private val chunks = quiet :+ ("heartbeatInterval" -> "200ms")

  /** A value out of line, and as large as a frame. */
  private val large = "(SELECT string_agg(md5(i::text || random()::text), '') FROM generate_series(1, 40000) i)"

  /** The notes of a replica by their keys. The row of a new key has the note of the one that was deleted last. */
  private def replica(name: String): Map[Int, String] = Collected
    .of(name)
    .foldLeft((Map.empty[Int, String], "")) { case ((rows, deleted), row) =>
      row.getAs[String]("_change_type") match {
        case "truncate"                                    => (Map.empty, "")
        case "delete"                                      => (rows - row.getInt(0), rows.getOrElse(row.getInt(0), ""))
        case comparison if comparison.startsWith("verify") => (rows, deleted)
        case kind =>
          val known = if (kind == "insert") deleted else rows.getOrElse(row.getInt(0), "")
          (rows + (row.getInt(0) -> Option(row.getAs[String]("note")).getOrElse(known)), deleted)
      }
    }
    ._1

  private def source(shop: Shop): Map[Int, String] = shop
    .text("SELECT string_agg(id || ' ' || note, ',' ORDER BY id) FROM orders")
    .split(",")
    .map(_.split(" "))
    .map(row => row(0).toInt -> row(1))
    .toMap

  private def failing(steps: String)(body: => Unit): Unit = {
    Failpoints.arm(steps)
    try intercept[Exception](body): Unit
    finally Failpoints.disarm()
  }

  private def awaitEnd(query: StreamingQuery): Unit = Try(query.awaitTermination(30000)): Unit

  test("a chunk that ends with a full frame, and has changes of other rows only, is delivered once") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run(s"INSERT INTO orders SELECT i, $large FROM generate_series(1, 4) i")
        holding(1, ";reload.copied=fail@2") { held =>
          val query = start(shop.read(chunks: _*), "chunk_frame", dir.toString)
          until(query)(assert(Files.size(held.toPath) > 0))
          shop.run("INSERT INTO orders VALUES (100, 'later')")
          Files.delete(held.toPath)
          awaitEnd(query)
        }
        assert(changes("chunk_frame").map(_._2) == Seq(1, 2))
        shop.run("DELETE FROM orders WHERE id = 1")
        availableNow(shop, "chunk_frame", dir, chunks: _*)
        assert(
          changes("chunk_frame").drop(2).map(row => row._1 -> row._2) ==
            Seq("delete" -> 1, "insert" -> 3, "insert" -> 4, "insert" -> 100))
      }
    }
  }

  test("an empty last chunk ends the load only once the journal has what came before") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders SELECT i, 'old' FROM generate_series(1, 2) i")
        def run(): Unit = availableNow(shop, "chunk_last", dir, quiet: _*)
        failing("reload.copied=fail@2")(run())
        shop.transaction("INSERT INTO orders VALUES (7, 'x')", "UPDATE orders SET note = 'new' WHERE id = 1")
        shop.run("DELETE FROM orders WHERE id = 7")
        run()
        run()
        assert(replica("chunk_last") == source(shop) && reloadFiles(dir).isEmpty)
      }
    }
  }

  for (identity <- Seq("DEFAULT", "FULL"); moment <- Seq("loaded", "verified", "between chunks"))
    test(s"a row with a large value moves to an earlier chunk, REPLICA IDENTITY $identity, while its table is $moment") {
      Using.resource(new Shop) { shop =>
        withTempDir { dir =>
          val name = s"chunk_large_${identity}_${moment.replace(' ', '_')}"
          shop.run(
            "ALTER TABLE orders ALTER note SET STORAGE EXTERNAL",
            s"ALTER TABLE orders REPLICA IDENTITY $identity",
            "INSERT INTO orders SELECT i, repeat(i::text, 9000) FROM generate_series(1, 6) i"
          )
          val move = Seq("UPDATE orders SET id = 0 WHERE id = 5", "UPDATE orders SET id = id WHERE id = 2")
          val options = chunks :+ ("verify" -> "compare")
          def moving(request: => Unit)(isDone: => Boolean): Unit = holding(1) { held =>
            stopped(start(shop.read(options: _*), name, dir.toString)) {
              val query = spark.streams.active.head
              request
              until(query)(assert(Files.size(held.toPath) > 0))
              shop.run(move: _*)
              Files.delete(held.toPath)
              until(query)(assert(isDone))
            }
          }
          moment match {
            case "between chunks" =>
              failing("reload.copied=fail@2")(availableNow(shop, name, dir, chunks: _*))
              shop.transaction(move: _*)
            case "loaded" => moving(())(changes(name).exists(_._2 == 6))
            case _ =>
              availableNow(shop, name, dir, chunks: _*)
              val ends = if (identity == "FULL") 3 else 4
              moving(shop.run(verify))(changes(name).count(_._1 == "verify_end") == ends)
          }
          availableNow(shop, name, dir, chunks: _*)
          assert(replica(name) == source(shop) && reloadFiles(dir).forall(_.endsWith(".verified")))
          availableNow(shop, name, dir, chunks: _*)
        }
      }
    }

  /** Rows as JSON: changes of the table that a query of one table refuses. */
  Seq(
    "renamed" -> Seq(
      "ALTER TABLE orders RENAME id TO number",
      "UPDATE orders SET note = 'new' WHERE number = 1",
      "DELETE FROM orders WHERE number = 2"),
    "of another type" -> Seq("ALTER TABLE orders ALTER id TYPE bigint", "DELETE FROM orders WHERE id = 1"),
    "of another column" -> Seq(
      "ALTER TABLE orders DROP CONSTRAINT orders_pkey, ADD PRIMARY KEY (other)",
      "DELETE FROM orders WHERE id = 1"),
    "not in the log" -> Seq(
      "CREATE UNIQUE INDEX other ON orders (other)",
      "ALTER TABLE orders REPLICA IDENTITY USING INDEX other",
      "DELETE FROM orders WHERE id IN (1, 6)")
  ).foreach { case (change, statements) =>
    test(s"a table whose key is $change between its chunks is read again as a whole") {
      Using.resource(new Shop) { shop =>
        withTempDir { dir =>
          val name = s"chunk_key_${change.replace(' ', '_')}"
          shop.run(
            "ALTER TABLE orders ADD other int NOT NULL DEFAULT 0",
            "INSERT INTO orders SELECT i, 'old', 7 - i FROM generate_series(1, 6) i",
            "CREATE TABLE more (id int PRIMARY KEY)")
          // Else the catalog shows that its values were written again.
          if (change == "of another type") shop.run("ALTER TABLE orders DROP other")
          def run(): Unit =
            availableNow(shop, name, dir, chunks ++ Seq("dbtable" -> "orders,more", "sourceId" -> "tables"): _*)
          failing("reload.copied=fail@3")(run())
          assert(Collected.of(name).size == 2 || Collected.of(name).size == 4)
          shop.run(statements: _*)
          run()
          run()
          val rows = Collected.of(name).reverseIterator.takeWhile(_.getAs[String]("_change_type") != "truncate").toSeq
          assert(rows.size < Collected.of(name).size)
          def after(row: Row) = row.getAs[String]("after")
          assert(
            rows.map(after).sorted.mkString(",") == shop.text(
              "SELECT string_agg(t, ',' ORDER BY t) FROM (SELECT row_to_json(o)::text AS t FROM orders o) o"))
          assert(reloadFiles(dir).isEmpty)
        }
      }
    }
  }

  test("TRUNCATE before the first chunk of a table does not end a query") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        def run(): Unit = availableNow(shop, "chunk_truncate_fail", dir, quiet.take(2): _*)
        failing("reload.copied=fail@1")(run())
        shop.run("INSERT INTO orders VALUES (1, 'a')", "TRUNCATE orders", "INSERT INTO orders VALUES (2, 'b')")
        run()
        assert(changes("chunk_truncate_fail") == Seq(("insert", 2, "b")))
      }
    }
  }

  test("a transaction that was streamed, and waits for a standby, is in the chunk of its rows") {
    Using.resource(PostgresServer.node().fold(TestServer.missing("postgres"), identity)) { node =>
      Using.resource(new Shop(node.url)) { shop =>
        withTempDir { dir =>
          shop.run("INSERT INTO orders SELECT i, 'old' FROM generate_series(1, 4) i")
          def reset(): Unit = node.run(
            "SET synchronous_commit TO local",
            "ALTER SYSTEM RESET synchronous_standby_names",
            "SELECT pg_reload_conf()")
          holding(1) { held =>
            stopped(start(shop.read(chunks: _*), "chunk_standby", dir.toString)) {
              val query = spark.streams.active.head
              until(query)(assert(Files.size(held.toPath) > 0))
              node.run("ALTER SYSTEM SET synchronous_standby_names TO 'nobody'", "SELECT pg_reload_conf()")
              try {
                val writer = new Thread(() => shop.run("UPDATE orders SET note = 'new' WHERE id = 4"))
                def waiting = node.text("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").toInt
                until(query)(assert(node.text("SHOW synchronous_standby_names") == "nobody"))
                writer.start()
                until(query)(assert(waiting > 0))
                Files.delete(held.toPath)
                until(query)(assert(changes("chunk_standby").size >= 2))
                Thread.sleep(1000)
                reset()
                until(query)(assert(reloadFiles(dir).isEmpty))
                writer.join()
              } finally reset()
            }
          }
          assert(replica("chunk_standby") == source(shop))
        }
      }
    }
  }

  test("a lost connection, between chunks or within one, loses no change") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders SELECT i, 'old' FROM generate_series(1, 9) i")
        holding(1) { held =>
          stopped(start(shop.read(chunks: _*), "chunk_lost", dir.toString)) {
            val query = spark.streams.active.head
            until(query)(assert(Files.size(held.toPath) > 0))
            val lose =
              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'walsender' AND datname = current_database()"
            shop.run(lose)
            Files.delete(held.toPath)
            until(query)(assert(changes("chunk_lost").size >= 2))
            shop.run(lose, "UPDATE orders SET note = 'new' WHERE id % 2 = 0", "DELETE FROM orders WHERE id = 3")
            until(query)(assert(reloadFiles(dir).isEmpty))
            until(query)(assert(replica("chunk_lost") == source(shop)))
          }
        }
      }
    }
  }

  for (step <- Seq("reload.complete", "capture.changes", "reload.stored"))
    test(s"a reload in the middle of a load ends it, also after an error at $step") {
      Using.resource(new Shop) { shop =>
        withTempDir { dir =>
          val name = s"chunk_covered_${step.replace('.', '_')}"
          shop.run(s"INSERT INTO orders SELECT i, $large FROM generate_series(1, 6) i")
          failing("reload.copied=fail@2")(availableNow(shop, name, dir, chunks: _*))
          shop.run("SELECT pg_logical_emit_message(true, 'epochal', 'reload public.orders')")
          failing(s"$step=fail@${if (step == "capture.changes") 3 else 1}")(availableNow(shop, name, dir, chunks: _*))
          shop.run("DELETE FROM orders WHERE id IN (1, 5)")
          availableNow(shop, name, dir, chunks: _*)
          assert(replica(name) == source(shop) && reloadFiles(dir).isEmpty)
        }
      }
    }

  test("a comparison that the journal has in part is delivered whole, also without verify") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run(s"INSERT INTO orders SELECT i, $large FROM generate_series(1, 2) i")
        def run(options: (String, String)*): Unit = availableNow(shop, "chunk_unwanted", dir, options: _*)
        run()
        shop.run(verify)
        failing("capture.changes=fail@2")(run("verify" -> "compare"))
        run()
        run()
        assert(changes("chunk_unwanted").count(_._1 == "verify_end") == 1)
        assert(changes("chunk_unwanted").count(_._1 == "verify") == 2 && reloadFiles(dir).isEmpty)
      }
    }
  }

  for (isVerified <- Seq(false, true))
    test(
      s"a table whose rows always move to the chunk that is read is ${if (isVerified) "verified" else "loaded"} whole") {
      Using.resource(new Shop) { shop =>
        withTempDir { dir =>
          val name = s"chunk_moves_$isVerified"
          shop.run(
            "ALTER TABLE orders ALTER note SET STORAGE EXTERNAL",
            "INSERT INTO orders SELECT i, repeat(i::text, 9000) FROM generate_series(1, 99) i")
          val options = chunks.tail.map { case (key, value) => key -> (if (key == "chunkRows") "50" else value) }
          def run(more: (String, String)*): Unit = stopped(start(shop.read(options ++ more: _*), name, dir.toString)) {
            val query = spark.streams.active.head
            if (isVerified) shop.run(verify)
            // Each chunk ends at the last key, or begins there.
            var key = 100
            until(query) {
              shop.run(s"UPDATE orders SET id = $key WHERE id = (SELECT min(id) FROM orders WHERE id > 50)")
              key += 1
              assert(changes(name).exists(_._1 == "verify_end") || !isVerified)
              assert(changes(name).size >= 99 && reloadFiles(dir).isEmpty)
            }
            // A stop within an epoch would deliver some of its rows twice.
            query.processAllAvailable()
          }
          if (isVerified) availableNow(shop, name, dir, options: _*)
          run(if (isVerified) "verify" -> "compare" else "snapshot" -> "chunks")
          availableNow(shop, name, dir, options: _*)
          assert(replica(name) == source(shop))
        }
      }
    }
}
