package io.epochal.cdc

import java.io.File
import java.sql.DriverManager

import scala.annotation.nowarn
import scala.util.Using

import org.apache.spark.sql.streaming.{StreamingQueryException, Trigger}

import io.epochal.core.error.Conditions
import io.epochal.core.failpoint.Failpoints
import io.epochal.support.Collected

/** Queries over the changes of a table, on a real server. */
final class CdcQuerySuite extends CdcQueries {

  test("a snapshot, then every change in commit order, over restarts") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders SELECT i, 'old ' || i FROM generate_series(1, 3) i")
        stopped(start(shop.read(), "cdc_first", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(changes("cdc_first").size == 3))
          shop.transaction(
            "INSERT INTO orders VALUES (4, 'new')",
            "UPDATE orders SET note = 'changed' WHERE id = 1",
            "UPDATE orders SET id = 20 WHERE id = 2",
            "DELETE FROM orders WHERE id = 3")
          until(query)(assert(changes("cdc_first").size == 8))
          val (rows, later) = changes("cdc_first").splitAt(3)
          // Ranges of the table are read in parallel.
          assert(rows.toSet == Set(("insert", 1, "old 1"), ("insert", 2, "old 2"), ("insert", 3, "old 3")))
          assert(
            later == Seq(
              ("insert", 4, "new"),
              ("update_postimage", 1, "changed"),
              ("delete", 2, null),
              ("insert", 20, "old 2"),
              ("delete", 3, null)
            ))
          val versions = Collected.of("cdc_first").map(_.getAs[String]("_commit_version"))
          assert(versions == versions.sorted && versions.distinct.size == 8)
          // A restart would deliver uncommitted rows once more.
          query.processAllAvailable()
        }
        shop.run("INSERT INTO orders VALUES (5, 'while stopped')")
        stopped(start(shop.read(), "cdc_second", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(changes("cdc_second") == Seq(("insert", 5, "while stopped"))))
          shop.run("INSERT INTO orders VALUES (6, 'after')")
          until(query)(assert(changes("cdc_second").size == 2))
        }
      }
    }
  }

  test("Trigger.Once delivers the table's rows, and at each later start all changes up to it, in one batch") {
    @nowarn("cat=deprecation") def once(shop: Shop, name: String, checkpoint: String): Unit =
      start(shop.read(), name, checkpoint, Trigger.Once()).awaitTermination()
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders VALUES (1, 'a')")
        once(shop, "cdc_once", dir.toString)
        assert(changes("cdc_once") == Seq(("insert", 1, "a")))
        shop.run("INSERT INTO orders VALUES (2, 'b')", "INSERT INTO orders VALUES (3, 'c')")
        once(shop, "cdc_once_more", dir.toString)
        assert(changes("cdc_once_more") == Seq(("insert", 2, "b"), ("insert", 3, "c")) && commits(dir).size == 2)
      }
    }
  }

  test("a batch that is replayed has the same rows, and needs no server") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        def availableNow(name: String): Unit = {
          val query = start(shop.read("startingOffset" -> "latest"), name, dir.toString, Trigger.AvailableNow())
          query.awaitTermination()
        }
        availableNow("cdc_replay_start")
        shop.run("INSERT INTO orders VALUES (1, 'a')", "INSERT INTO orders VALUES (2, 'b')")
        stopped(start(shop.read(), "cdc_replay", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(changes("cdc_replay").size == 2 && commits(dir).nonEmpty))
          until(query)(assert(query.lastProgress.batchId == commits(dir).map(_.getName.toInt).max))
        }
        val last = commits(dir).maxBy(_.getName.toInt)
        assert(last.delete() && new File(last.getParent, s".${last.getName}.crc").delete())
        availableNow("cdc_replayed")
        assert(changes("cdc_replayed").takeRight(1) == changes("cdc_replay").takeRight(1))
      }
    }
  }

  /** Table, type, JSON before and after of each generic row. */
  private def generic(name: String): Seq[(String, String, String, String)] = Collected
    .of(name)
    .map(row =>
      (
        row.getAs[String]("_table"),
        row.getAs[String]("_change_type"),
        row.getAs[String]("before"),
        row.getAs[String]("after")))

  /** `orders`, and `items` whose texts differ from casts to text. */
  private def withItems(shop: Shop): Unit = shop.run(
    "CREATE TABLE items (id uuid PRIMARY KEY, code char(4), at inet, flag boolean, price numeric, tags text[], doc jsonb)",
    "INSERT INTO orders VALUES (1, 'one')",
    "INSERT INTO items SELECT md5('1')::uuid, 'a', '10.0.0.1', true, 1.50, '{a,NULL}', '{\"k\": [1.50]}'"
  )

  test("changes of several tables have generic rows, in commit order over a snapshot, restarts and a replay") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        withItems(shop)
        def read(tables: String = "orders,public.items") = shop.read("dbtable" -> tables, "sourceId" -> "shop")
        def json(table: String) = shop.text(s"SELECT row_to_json(t)::text FROM $table t")
        val (order, item) = (json("orders"), json("items"))
        val key = """{"id":"c4ca4238-a0b9-2382-0dcc-509a6f75849b"}"""
        stopped(start(read(), "cdc_several", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(generic("cdc_several").size == 2))
          assert(
            generic("cdc_several") == Seq(
              ("public.orders", "insert", null, order),
              ("public.items", "insert", null, item)))
          Using.resource(DriverManager.getConnection(shop.url)) { first =>
            first.setAutoCommit(false)
            Using.resource(first.createStatement()) { statement =>
              statement.execute("INSERT INTO orders VALUES (2, 'begun first')")
              shop.transaction(
                "UPDATE items SET code = 'b'",
                "INSERT INTO orders VALUES (3, 'committed first')",
                "UPDATE items SET code = 'a'")
              statement.execute("UPDATE orders SET id = 10 WHERE id = 1")
              statement.execute("DELETE FROM items")
            }
            first.commit()
          }
          until(query)(assert(generic("cdc_several").size == 9))
          assert(
            generic("cdc_several").drop(2) == Seq(
              ("public.items", "update_postimage", key, item.replace("a   ", "b   ")),
              ("public.orders", "insert", null, """{"id":3,"note":"committed first"}"""),
              ("public.items", "update_postimage", key, item),
              ("public.orders", "insert", null, """{"id":2,"note":"begun first"}"""),
              ("public.orders", "delete", """{"id":1}""", null),
              ("public.orders", "insert", null, """{"id":10,"note":"one"}"""),
              ("public.items", "delete", key, null)
            ))
          val versions = Collected.of("cdc_several").map(_.getAs[String]("_commit_version"))
          assert(versions == versions.sorted && versions.distinct.size == 9)
          query.processAllAvailable()
        }
        shop.run("ALTER TABLE orders ADD amount numeric", "INSERT INTO orders VALUES (4, 'while stopped', 1.50)")
        val added = Seq(("public.orders", "insert", null, """{"id":4,"note":"while stopped","amount":1.50}"""))
        stopped(start(read(), "cdc_several_again", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(generic("cdc_several_again") == added))
          until(query)(assert(query.lastProgress.batchId == commits(dir).map(_.getName.toInt).max))
        }
        val last = commits(dir).maxBy(_.getName.toInt)
        assert(last.delete() && new File(last.getParent, s".${last.getName}.crc").delete())
        start(read(), "cdc_several_replayed", dir.toString, Trigger.AvailableNow()).awaitTermination()
        assert(generic("cdc_several_replayed") == added)

        shop.run("CREATE TABLE more (id int PRIMARY KEY)", s"ALTER PUBLICATION ${shop.name} ADD TABLE more")
        start(read("orders,items,more"), "cdc_several_more", dir.toString, Trigger.AvailableNow()).awaitTermination()
        assert(generic("cdc_several_more") == Seq(("public.more", "truncate", null, null)))
        Seq("orders,more" -> "public.items was left out", "orders" -> "several")
          .foreach { case (tables, change) =>
            val query = start(read(tables), s"cdc_refused_${tables.length}", dir.toString)
            val error = refused(Conditions.TablesChanged)(query.awaitTermination(60000))
            assert(error.getMessage.contains(change))
          }
      }
    }
  }

  test("a schema is captured with the tables that it gets later, unless they may have had rows before") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        assume(shop.text("SHOW server_version_num").toInt >= 150000, "publications of schemas")
        withItems(shop)
        def read() = shop.read("dbtable" -> "public.*")
        val first = start(read(), "cdc_schema", dir.toString)
        until(first)(assert(generic("cdc_schema").size == 2))
        shop.run(
          "CREATE TYPE pair AS (x int, y text)",
          "CREATE TABLE later (id int PRIMARY KEY, pair pair)",
          "INSERT INTO later VALUES (1, ROW(7, 'q'))",
          "CREATE SCHEMA other",
          "CREATE TABLE other.moved (id int PRIMARY KEY)",
          "INSERT INTO other.moved VALUES (1)"
        )
        val later = ("public.later", "insert", null, """{"id":1,"pair":{"x":7,"y":"q"}}""")
        until(first)(assert(generic("cdc_schema").drop(2) == Seq(later)))
        shop.run("ALTER TABLE other.moved SET SCHEMA public", "INSERT INTO moved VALUES (2)")
        val error = refused(Conditions.TablesChanged)(first.awaitTermination(60000))
        assert(error.getMessage.contains("public.moved was added"))
        shop.run("DROP TABLE moved", "UPDATE later SET id = 2")
        stopped(start(read(), "cdc_schema_again", dir.toString)) {
          val query = spark.streams.active.head
          val moved = ("public.moved", "insert", null, """{"id":2}""")
          val updated = Seq(
            ("public.later", "delete", """{"id":1}""", null),
            ("public.later", "insert", null, later._4.replace("1", "2")))
          // A table that is gone again lacks no rows.
          until(query)(assert(generic("cdc_schema_again") == moved +: updated))
        }
      }
    }
  }

  test("TRUNCATE ends the query, unless it is to be a row or ignored") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        val first = start(shop.read("startingOffset" -> "latest"), "cdc_truncate", dir.toString)
        until(first)(assert(first.lastProgress != null))
        shop.run("INSERT INTO orders VALUES (1, 'a')", "TRUNCATE orders", "INSERT INTO orders VALUES (2, 'b')")
        refused(Conditions.TableTruncated)(first.awaitTermination(60000))
        assert(changes("cdc_truncate") == Seq(("insert", 1, "a")))
        stopped(start(shop.read("onTruncate" -> "emit"), "cdc_truncated", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(changes("cdc_truncated") == Seq(("truncate", null, null), ("insert", 2, "b"))))
        }
      }
    }
  }

  test("a column that is added while a query adopts, also before the first row, is delivered by the next start") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        def begin(name: String) = start(shop.read("onSchemaChange" -> "adopt"), name, dir.toString)
        Seq(1, 2).foreach { number =>
          val before = begin(s"cdc_before_$number")
          until(before)(assert(before.lastProgress != null))
          shop.run(
            s"ALTER TABLE orders ADD added$number text",
            s"INSERT INTO orders (id, added$number) VALUES ($number, 'kept')")
          refused(Conditions.TableChanged)(before.awaitTermination(60000))
          assert(changes(s"cdc_before_$number").isEmpty)
          val name = s"cdc_adopted_$number"
          stopped(begin(name)) {
            val query = spark.streams.active.head
            until(query)(assert(Collected.of(name).map(_.getAs[String](s"added$number")) == Seq("kept")))
            query.processAllAvailable()
          }
        }
      }
    }
  }

  test("a snapshot may have a column that earlier changes lack") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        Failpoints.arm("capture.slot=fail")
        try start(shop.read(), "cdc_no_slot", dir.toString).awaitTermination(60000)
        catch { case _: StreamingQueryException => () }
        finally Failpoints.disarm()
        shop.run(
          "INSERT INTO orders VALUES (1, 'old')",
          "ALTER TABLE orders ADD added text",
          "INSERT INTO orders VALUES (2, 'new', 'kept')")
        stopped(start(shop.read(), "cdc_older", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(changes("cdc_older").size == 2))
          shop.run("INSERT INTO orders VALUES (3, 'last', 'kept')")
          def added = Collected.of("cdc_older").map(row => row.getInt(0) -> row.getAs[String]("added")).toMap
          until(query)(assert(added == Map(1 -> null, 2 -> "kept", 3 -> "kept")))
        }
      }
    }
  }

  test("a TRUNCATE from before the snapshot is none, since its rows show it") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run(
          "INSERT INTO orders VALUES (1, 'old')",
          s"CREATE PUBLICATION ${shop.name} FOR TABLE orders",
          s"SELECT pg_create_logical_replication_slot('${shop.name}', 'pgoutput')",
          "TRUNCATE orders",
          "INSERT INTO orders VALUES (2, 'new')"
        )
        stopped(start(shop.read(), "cdc_truncated_before", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(changes("cdc_truncated_before").size == 1))
          shop.run("INSERT INTO orders VALUES (3, 'later')")
          until(query)(assert(changes("cdc_truncated_before") == Seq(("insert", 2, "new"), ("insert", 3, "later"))))
        }
      }
    }
  }

  test("a slot that somebody else has moved is refused, and so is one that was dropped") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        val first = start(shop.read("startingOffset" -> "latest"), "cdc_moved", dir.toString)
        until(first)(assert(first.lastProgress != null))
        shop.run("INSERT INTO orders VALUES (1, 'a')")
        until(first)(assert(changes("cdc_moved").size == 1))
        first.stop()
        shop.run("INSERT INTO orders VALUES (2, 'b')")
        shop.run(s"SELECT pg_replication_slot_advance('${shop.name}', pg_current_wal_lsn())")
        refused(Conditions.SlotLost) {
          val query = start(shop.read(), "cdc_moved_again", dir.toString)
          query.awaitTermination(60000)
        }
        shop.run(s"SELECT pg_drop_replication_slot('${shop.name}')")
        refused(Conditions.SlotLost) {
          val query = start(shop.read(), "cdc_dropped", dir.toString)
          query.awaitTermination(60000)
        }
        shop.run(s"SELECT pg_create_logical_replication_slot('${shop.name}', 'pgoutput')")
        refused(Conditions.SlotLost) {
          val query = start(shop.read(), "cdc_recreated", dir.toString)
          query.awaitTermination(60000)
        }
      }
    }
  }

  test("a bounded run does not end as if nothing was missing if the slot was moved past changes") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        def run(): Unit = {
          val rows = shop.read("startingOffset" -> "latest")
          start(rows, "cdc_moved_bounded", dir.toString, Trigger.AvailableNow()).awaitTermination()
        }
        run()
        shop.run("INSERT INTO orders VALUES (1, 'a')")
        (1 to 2).foreach(_ => run())
        assert(changes("cdc_moved_bounded") == Seq(("insert", 1, "a")))
        shop.run(
          "INSERT INTO orders VALUES (2, 'b')",
          s"SELECT pg_replication_slot_advance('${shop.name}', pg_current_wal_lsn())")
        refused(Conditions.SlotLost)(run())
      }
    }
  }

  test("what is missing on the server is listed before the start, with the SQL that fixes it") {
    Using.resource(new Shop) { shop =>
      shop.run("CREATE TABLE keyless (note text)")
      val error = refused(Conditions.CaptureNotReady)(shop.read("dbtable" -> "keyless", "createSlot" -> "false"))
      assert(error.getMessage.contains("REPLICA IDENTITY FULL"))
      assert(error.getMessage.contains("pg_create_logical_replication_slot"))
      refused(Conditions.TableMissing)(shop.read("dbtable" -> "order"))
    }
  }
}
