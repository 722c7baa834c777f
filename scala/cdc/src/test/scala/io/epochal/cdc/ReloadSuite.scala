package io.epochal.cdc

import java.io.File
import java.sql.DriverManager

import scala.util.Using

import io.epochal.core.error.Conditions
import io.epochal.core.failpoint.Failpoints
import io.epochal.support.Collected

/** A table is reloaded while a query reads its changes. */
final class ReloadSuite extends CdcQueries {
  private val reload = "SELECT pg_logical_emit_message(true, 'epochal', 'reload public.orders')"

  /** The rows that a replica has after all changes. */
  private def replica(name: String): String = changes(name)
    .foldLeft(Map.empty[Int, Any]) {
      case (_, ("truncate", _, _))        => Map.empty
      case (rows, ("delete", id: Int, _)) => rows - id
      case (rows, (_, id: Int, note))     => rows + (id -> note)
      case (_, other)                     => fail(s"$other")
    }
    .toSeq
    .sortBy(_._1)
    .map { case (id, note) => s"$id $note" }
    .mkString("\n")

  private def ofSource(shop: Shop): String =
    shop.text("SELECT string_agg(id || ' ' || note, e'\n' ORDER BY id) FROM orders")

  test("the rows of a table are delivered again, in one transaction, and the changes since they were read") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders SELECT i, 'old ' || i FROM generate_series(1, 3) i")
        stopped(start(shop.read(), "cdc_reload", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(changes("cdc_reload").size == 3))
          whileCopied(query, shop, reload) {
            shop.run(
              "UPDATE orders SET note = 'meanwhile' WHERE id = 1",
              "DELETE FROM orders WHERE id = 2",
              "INSERT INTO orders VALUES (4, 'new')",
              "UPDATE orders SET id = 30 WHERE id = 3")
            // The stream does not wait for the copy.
            until(query)(assert(changes("cdc_reload").size == 8))
          }
          until(query)(assert(changes("cdc_reload").size == 17))
          val again = changes("cdc_reload").drop(8)
          assert(again.head == ("truncate", null, null))
          assert(again.slice(1, 4).toSet == Set(("insert", 1, "old 1"), ("insert", 2, "old 2"), ("insert", 3, "old 3")))
          assert(
            again.drop(4) == Seq(
              ("update_postimage", 1, "meanwhile"),
              ("delete", 2, null),
              ("insert", 4, "new"),
              ("delete", 3, null),
              ("insert", 30, "old 3")))
          assert(commitsOf("cdc_reload").drop(8).distinct.size == 1)
          assert(replica("cdc_reload") == ofSource(shop))
          shop.run("INSERT INTO orders VALUES (5, 'later')")
          until(query)(assert(changes("cdc_reload").size == 18))
          until(query)(assert(reloadFiles(dir).isEmpty))
        }
      }
    }
  }

  test("a run that ends waits for the reload, whose rows are one batch although they exceed the journal's limit") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders SELECT i, repeat('x', 200) FROM generate_series(1, 20000) i")
        availableNow(shop, "cdc_large", dir)
        val batches = commits(dir).size
        shop.run(reload)
        availableNow(shop, "cdc_large_again", dir, "maxJournalBytes" -> "1k")
        assert(changes("cdc_large_again").size == 20001 && commitsOf("cdc_large_again").distinct.size == 1)
        assert(commits(dir).size == batches + 1)
        assert(reloadFiles(dir).isEmpty)
      }
    }
  }

  for (step <- Seq("reload.requested", "reload.complete", "capture.changes", "reload.stored"))
    test(s"after an error at $step a reload is completed") {
      Using.resource(new Shop) { shop =>
        withTempDir { dir =>
          // More than a frame.
          shop.run("INSERT INTO orders SELECT i, repeat('x', 200) FROM generate_series(1, 20000) i")
          val name = s"cdc_${step.replace('.', '_')}"
          availableNow(shop, name, dir)
          shop.run(reload, "UPDATE orders SET note = 'y' WHERE id % 100 = 0")
          Failpoints.arm(s"$step=fail@${if (step == "capture.changes") 2 else 1}")
          try intercept[Exception](availableNow(shop, name, dir)): Unit
          finally Failpoints.disarm()
          shop.run("UPDATE orders SET note = 'z' WHERE id % 100 = 1")
          availableNow(shop, name, dir)
          assert(replica(name) == ofSource(shop))
          assert(changes(name).count(_._1 == "truncate") == 1)
          assert(reloadFiles(dir).isEmpty)
        }
      }
    }

  test("each of two tables is reloaded, and a request for another one is ignored") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run(
          "CREATE TABLE items (id int PRIMARY KEY)",
          "INSERT INTO items VALUES (1)",
          "CREATE TABLE other (id int)")
        for (rows <- Seq("json", "typed")) {
          val name = s"cdc_two_$rows"
          val options = Seq("dbtable" -> "orders,items", "rows" -> rows, "slot" -> shop.name)
          val checkpoint = new File(dir, rows)
          availableNow(shop, name, checkpoint, options: _*)
          val requests = Seq("public.items", "public.other", "public.orders").map(table =>
            s"SELECT pg_logical_emit_message(true, 'epochal', 'reload $table')")
          shop.run(requests: _*)
          availableNow(shop, name, checkpoint, options: _*)
          val again =
            Collected.of(name).drop(1).map(row => row.getAs[String]("_table") -> row.getAs[String]("_change_type"))
          assert(again == Seq("public.items" -> "truncate", "public.items" -> "insert", "public.orders" -> "truncate"))
          shop.run(s"SELECT pg_drop_replication_slot('${shop.name}')", s"DROP PUBLICATION ${shop.name}")
        }
      }
    }
  }

  test("a value that an update leaves out while the table is copied is that of the copy") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run(
          "ALTER TABLE orders ADD COLUMN n int",
          "INSERT INTO orders SELECT 1, string_agg(md5(i::text), ''), 0 FROM generate_series(1, 500) i")
        stopped(start(shop.read(), "cdc_unsent", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(changes("cdc_unsent").size == 1))
          whileCopied(query, shop, reload) {
            shop.run("UPDATE orders SET n = 1", "UPDATE orders SET id = 2")
          }
          until(query)(assert(changes("cdc_unsent").size == 9))
          val rows = Collected.of("cdc_unsent").drop(4).map { row =>
            (row.getAs[String]("_change_type"), row.get(0), row.getSeq[String](row.fieldIndex("_unchanged_columns")))
          }
          assert(
            rows.map(row => row._1 -> row._2) == Seq(
              "truncate" -> null,
              "insert" -> 1,
              "update_postimage" -> 1,
              "delete" -> 1,
              "insert" -> 2))
          assert(rows.map(row => Option(row._3).toSeq.flatten) == Seq(Nil, Nil, Seq("note"), Nil, Seq("note")))
        }
      }
    }
  }

  test("a copy whose connection is lost begins again") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders VALUES (1, 'a')")
        availableNow(shop, "cdc_lost", dir)
        shop.run(reload)
        Failpoints.arm("reload.copied=disconnect@1")
        try availableNow(shop, "cdc_lost", dir)
        finally Failpoints.disarm()
        assert(changes("cdc_lost").map(_._1) == Seq("insert", "truncate", "insert"))
        assert(reloadFiles(dir).isEmpty)
      }
    }
  }

  test("a table that is written again while a reload begins has its rows") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
        stopped(start(shop.read(), "cdc_written", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(changes("cdc_written").size == 2))
          Using.resource(DriverManager.getConnection(shop.url)) { other =>
            other.setAutoCommit(false)
            other.createStatement().execute("ALTER TABLE orders ADD twice int GENERATED ALWAYS AS (2 * id) STORED")
            shop.run(reload)
            val waiting =
              "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            until(query)(assert(shop.text(waiting) == "1"))
            other.commit()
          }
          until(query)(assert(changes("cdc_written").drop(2).map(_._1) == Seq("truncate", "insert", "insert")))
        }
      }
    }
  }

  test("a reload that is not permitted ends the query once") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        val role = s"${shop.name}_reader"
        shop.run(
          "INSERT INTO orders VALUES (1, 'a')",
          s"CREATE ROLE $role LOGIN REPLICATION",
          s"GRANT SELECT ON orders TO $role",
          s"CREATE PUBLICATION ${shop.name} FOR TABLE orders")
        try {
          val own = "url" -> shop.url.replaceFirst("user=[^&]*", s"user=$role")
          val query = start(shop.read(own), "cdc_denied", dir.toString)
          until(query)(assert(changes("cdc_denied").size == 1))
          shop.run(s"REVOKE SELECT ON orders FROM $role", reload)
          val error = refused(Conditions.DatabaseError)(query.awaitTermination(60000))
          assert(error.getMessage.contains("permission denied for table orders"))
          shop.run(s"GRANT SELECT ON orders TO $role", "INSERT INTO orders VALUES (2, 'b')")
          availableNow(shop, "cdc_granted", dir, own)
          assert(changes("cdc_granted").map(_._2).last == 2 && !changes("cdc_granted").exists(_._1 == "truncate"))
        } finally shop.run(s"DROP OWNED BY $role", s"DROP ROLE $role")
      }
    }
  }

  test("of JSON rows, a table and a column that were added later are reloaded") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        val options = Seq("dbtable" -> "public.*", "sourceId" -> "shop", "slot" -> shop.name)
        stopped(start(shop.read(options: _*), "cdc_json_later", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(query.lastProgress != null))
          shop.run(
            "CREATE TABLE later (id int PRIMARY KEY)",
            "INSERT INTO later VALUES (1)",
            "ALTER TABLE later ADD size int DEFAULT 7",
            "INSERT INTO later VALUES (2)",
            s"SELECT pg_logical_emit_message(true, 'epochal', 'reload slot ${shop.name}')")
          until(query)(assert(Collected.of("cdc_json_later").count(_.getAs[String]("_change_type") == "truncate") == 2))
          def rows = Collected
            .of("cdc_json_later")
            .filter(_.getAs[String]("_table") == "public.later")
            .map(_.getAs[String]("after"))
          until(query)(assert(rows.takeRight(2).toSet == Set("""{"id":1,"size":7}""", """{"id":2,"size":7}""")))
        }
      }
    }
  }

  /** The rows of a replica of `items` after all JSON rows. */
  private def items(name: String): String = Collected
    .of(name)
    .filter(_.getAs[String]("_table") == "public.items")
    .map(row => (row.getAs[String]("_change_type"), row.getAs[String]("before"), row.getAs[String]("after")))
    .foldLeft(Map.empty[String, String]) {
      case (_, ("truncate", _, _))       => Map.empty
      case (rows, ("delete", before, _)) => rows - before.replaceAll("\\D.*?(\\d+).*", "$1")
      case (rows, (_, _, after))         => rows + (after.replaceAll("\\D.*?(\\d+).*", "$1") -> after)
    }
    .values
    .toSeq
    .sorted
    .mkString("\n")

  for (step <- Seq("none", "reload.copied", "reload.complete", "capture.changes", "reload.stored"))
    test(s"a table that is added has its earlier rows, and none of its changes comes before them; an error at $step") {
      Using.resource(new Shop) { shop =>
        withTempDir { dir =>
          val name = s"cdc_added_${step.replace('.', '_')}"
          def run(tables: String): Unit =
            availableNow(shop, name, dir, "dbtable" -> tables, "rows" -> "json", "sourceId" -> "shop")
          def change(i: Int): Unit = shop.transaction(
            s"INSERT INTO orders VALUES ($i, 'a')",
            s"UPDATE items SET n = $i WHERE id % 3 = ${i % 3}",
            s"INSERT INTO items VALUES (${100000 + i}, 0)",
            s"INSERT INTO orders VALUES (-$i, 'b')",
            s"DELETE FROM items WHERE id % 1000 = $i")
          shop.run(
            "CREATE TABLE items (id int PRIMARY KEY, n int, note text DEFAULT repeat('x', 100))",
            "INSERT INTO items (id) SELECT i FROM generate_series(1, 20000) i")
          run("orders")
          change(1)
          assert(
            refused(Conditions.CaptureNotReady)(run("orders,items")).getMessage.contains("ADD TABLE ONLY public.items"))
          shop.run(s"ALTER PUBLICATION ${shop.name} ADD TABLE ONLY public.items")
          change(2)
          if (step != "none") {
            Failpoints.arm(s"$step=fail@${if (step == "capture.changes") 2 else 1}")
            try intercept[Exception](run("orders,items")): Unit
            finally Failpoints.disarm()
          }
          change(3)
          run("orders,items")
          change(4)
          run("orders,items")
          assert(items(name) == shop.text(
            "SELECT string_agg(j, e'\\n' ORDER BY j COLLATE \"C\") FROM (SELECT row_to_json(i)::text AS j FROM items i) s"))
          val kinds =
            Collected.of(name).filter(_.getAs[String]("_table") == "public.items").map(_.getAs[String]("_change_type"))
          // The error may come when the journal has the last row.
          val reloads = step match {
            case "capture.changes" => Set(1, 2)
            case _                 => Set(1)
          }
          assert(kinds.head == "truncate" && reloads(kinds.count(_ == "truncate")))
          assert(Collected.of(name).count(_.getAs[String]("_table") == "public.orders") == 8)
        }
      }
    }

  test("a table leaves the query once the publication does not have it, and does not come back") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        def run(tables: String): Unit =
          availableNow(shop, "cdc_left", dir, "dbtable" -> tables, "rows" -> "json", "sourceId" -> "shop")
        shop.run("CREATE TABLE items (id int PRIMARY KEY)", "INSERT INTO items VALUES (1)")
        run("orders,items")
        val error = refused(Conditions.TablesChanged)(run("orders"))
        assert(error.getMessage.contains("public.items was left out"))
        shop.run(
          "ALTER PUBLICATION [^;]*".r.findFirstIn(error.getMessage).mkString,
          "INSERT INTO items VALUES (2)",
          "INSERT INTO orders VALUES (1, 'a')")
        run("orders")
        assert(Collected.of("cdc_left").map(_.getAs[String]("_table")) == Seq("public.items", "public.orders"))
        shop.run(s"ALTER PUBLICATION ${shop.name} ADD TABLE ONLY items")
        assert(
          refused(Conditions.TablesChanged)(run("orders,items")).getMessage
            .contains("public.items was left out before"))
      }
    }
  }
}
