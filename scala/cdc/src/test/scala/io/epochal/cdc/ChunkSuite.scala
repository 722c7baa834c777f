package io.epochal.cdc

import java.nio.file.Files

import scala.util.Using

import io.epochal.core.failpoint.Failpoints
import io.epochal.support.Collected
import io.epochal.support.SlowTests.slowIf

/** Tables are loaded, and verified, in chunks. */
final class ChunkSuite extends CdcQueries {
  private val verify = "SELECT pg_logical_emit_message(true, 'epochal', 'verify public.orders')"
  private val chunks = Seq("snapshot" -> "chunks", "chunkRows" -> "2", "onTruncate" -> "emit")

  /** The changes of each transaction. */
  private def transactions(name: String): Seq[Seq[(String, Any, Any)]] = {
    val all = changes(name).zip(commitsOf(name))
    all.map(_._2).distinct.map(commit => all.filter(_._2 == commit).map(_._1))
  }

  private def inserts(ids: Int*): Seq[(String, Any, Any)] = ids.map(id => ("insert", id, s"old $id"))

  test("a table is loaded in chunks: each is a transaction, and has the changes of its rows since they were read") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders SELECT i, 'old ' || i FROM generate_series(1, 6) i")
        holding(1) { held =>
          stopped(start(shop.read(chunks: _*), "cdc_chunks", dir.toString)) {
            val query = spark.streams.active.head
            until(query)(assert(Files.size(held.toPath) > 0))
            shop.run(
              "UPDATE orders SET note = 'first' WHERE id = 1",
              "DELETE FROM orders WHERE id = 2",
              "UPDATE orders SET note = 'later' WHERE id = 3",
              "INSERT INTO orders VALUES (7, 'old 7'), (0, 'zero')",
              "UPDATE orders SET id = -1 WHERE id = 5",
              "UPDATE orders SET id = 8, note = 'old 8' WHERE id = 0")
            assert(changes("cdc_chunks").isEmpty)
            Files.delete(held.toPath)
            until(query)(assert(reloadFiles(dir).isEmpty))
            shop.run("INSERT INTO orders VALUES (9, 'end')")
            until(query)(assert(changes("cdc_chunks").exists(_._2 == 9)))
          }
        }
        assert(
          transactions("cdc_chunks") == Seq(
            inserts(1, 2) ++ Seq(
              ("update_postimage", 1, "first"),
              ("delete", 2, null),
              ("insert", 0, "zero"),
              ("insert", -1, "old 5"),
              ("delete", 0, null)),
            Seq(("insert", 3, "later")) ++ inserts(4),
            inserts(6, 7),
            inserts(8),
            Seq(("insert", 9, "end"))))
      }
    }
  }

  test("changes of rows that are not loaded yet are withheld; a row that moves between chunks is delivered once") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders SELECT i, 'old ' || i FROM generate_series(1, 4) i")
        def run(): Unit = availableNow(shop, "cdc_chunk_moves", dir, chunks: _*)
        Failpoints.arm("reload.copied=fail@2")
        try intercept[Exception](run()): Unit
        finally Failpoints.disarm()
        assert(changes("cdc_chunk_moves") == inserts(1, 2))
        // Keys up to 2 are loaded.
        shop.run(
          "UPDATE orders SET note = 'seen' WHERE id = 1",
          "UPDATE orders SET note = 'unseen' WHERE id = 4",
          "UPDATE orders SET id = 5 WHERE id = 2",
          "UPDATE orders SET id = 0 WHERE id = 3",
          "DELETE FROM orders WHERE id = 4")
        run()
        assert(
          changes("cdc_chunk_moves").drop(2) == Seq(
            ("update_postimage", 1, "seen"),
            ("delete", 2, null),
            ("insert", 0, "old 3"),
            ("insert", 5, "old 2")))
        assert(reloadFiles(dir).isEmpty)
      }
    }
  }

  test("a row that moves to a loaded chunk without its large value: the table is read again as a whole") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run(
          "ALTER TABLE orders ADD big text",
          "ALTER TABLE orders ALTER big SET STORAGE EXTERNAL",
          "INSERT INTO orders SELECT i, 'old ' || i, repeat('x', 9000) FROM generate_series(1, 4) i"
        )
        val name = "cdc_chunk_unsent"
        def run(): Unit = availableNow(shop, name, dir, chunks: _*)
        Failpoints.arm("reload.copied=fail@2")
        try intercept[Exception](run()): Unit
        finally Failpoints.disarm()
        shop.transaction(
          "UPDATE orders SET note = 'seen' WHERE id = 1",
          "UPDATE orders SET id = 0 WHERE id = 3",
          "UPDATE orders SET note = 'seen' WHERE id = 2")
        shop.run("UPDATE orders SET note = 'withheld' WHERE id = 0")
        run()
        val (before, after) = changes(name).drop(2).span(_._1 != "truncate")
        // A chunk that is being read is delivered.
        assert(
          before.take(2) == Seq(1, 2).map(("update_postimage", _, "seen")) && before.drop(2).forall(_._1 == "insert"))
        assert(after.tail.map(_._1).distinct == Seq("insert"))
        assert(
          after.tail.map(row => row._2 -> row._3).toSet ==
            Set(0 -> "withheld", 1 -> "seen", 2 -> "seen", 4 -> "old 4"))
        assert(reloadFiles(dir).isEmpty)
      }
    }
  }

  for (chunk <- 1 to 2)
    test(s"TRUNCATE while chunk $chunk of a table is read is delivered only if rows were") {
      Using.resource(new Shop) { shop =>
        withTempDir { dir =>
          val name = s"cdc_chunk_truncate_$chunk"
          shop.run("INSERT INTO orders SELECT i, 'old ' || i FROM generate_series(1, 6) i")
          holding(chunk) { held =>
            stopped(start(shop.read(chunks: _*), name, dir.toString)) {
              val query = spark.streams.active.head
              until(query)(assert(Files.size(held.toPath) > 0))
              shop.run("TRUNCATE orders", "INSERT INTO orders VALUES (2, 'new'), (7, 'new')")
              Files.delete(held.toPath)
              until(query)(assert(reloadFiles(dir).isEmpty))
              until(query)(assert(changes(name).lastOption.contains(("insert", 7, "new"))))
            }
          }
          val before = if (chunk == 1) Nil else inserts(1, 2) :+ (("truncate", null, null))
          assert(changes(name) == before ++ Seq(("insert", 2, "new"), ("insert", 7, "new")))
        }
      }
    }

  Seq("text" -> "'b'", "numeric" -> "1.5", "int" -> "").foreach { case (kind, value) =>
    test(s"a table ${if (value.isEmpty) "without a key" else s"whose key is $kind"} is loaded whole") {
      Using.resource(new Shop) { shop =>
        withTempDir { dir =>
          shop.run("DROP TABLE orders", s"CREATE TABLE orders (id $kind, note text)")
          if (value.isEmpty) shop.run("ALTER TABLE orders REPLICA IDENTITY FULL")
          else shop.run("ALTER TABLE orders ADD PRIMARY KEY (id)")
          shop.run(s"INSERT INTO orders SELECT i::text::$kind, 'old' FROM generate_series(1, 5) i")
          val name = s"cdc_chunk_whole_$kind"
          availableNow(shop, name, dir, chunks: _*)
          assert(changes(name).map(_._1) == Seq.fill(5)("insert") && commitsOf(name).distinct.size == 1)
          assert(reloadFiles(dir).isEmpty)
        }
      }
    }
  }

  test("several tables, also empty and added ones, are loaded one after another") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run(
          "CREATE TABLE items (a bigint, b uuid, PRIMARY KEY (a, b))",
          "CREATE TABLE added (id smallint PRIMARY KEY)",
          "INSERT INTO items SELECT i / 4, md5(i::text)::uuid FROM generate_series(1, 9) i",
          "INSERT INTO added SELECT i FROM generate_series(1, 3) i"
        )
        val name = "cdc_chunk_tables"
        def run(tables: String) =
          availableNow(shop, name, dir, chunks ++ Seq("dbtable" -> tables, "sourceId" -> "tables"): _*)
        def tables = Collected.of(name).map(_.getAs[String]("_table"))
        run("orders,items")
        assert(tables == Seq.fill(9)("public.items") && commitsOf(name).distinct.size == 5)
        val items = Collected.of(name).map(_.getAs[String]("after"))
        assert(items.sorted == items && items.distinct.size == 9)
        shop.run(s"ALTER PUBLICATION ${shop.name} ADD TABLE ONLY added", "INSERT INTO orders VALUES (1, 'a')")
        run("orders,items,added")
        assert(tables.drop(9) == "public.orders" +: Seq.fill(3)("public.added"))
        assert(Collected.of(name).map(_.getAs[String]("_change_type")).distinct == Seq("insert"))
        assert(reloadFiles(dir).isEmpty)
      }
    }
  }

  test("a table is verified in chunks, each with its bounds") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders SELECT i, 'old ' || i FROM generate_series(1, 5) i")
        val options = chunks.tail :+ ("verify" -> "compare")
        stopped(start(shop.read(options: _*), "cdc_verify_chunks", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(changes("cdc_verify_chunks").size == 5))
          whileCopied(query, shop, verify) {
            shop.run("UPDATE orders SET note = 'now' WHERE id IN (2, 5)", "INSERT INTO orders VALUES (6, 'old 6')")
          }
          until(query)(assert(reloadFiles(dir).isEmpty))
          def rows(ids: Int*) = inserts(ids: _*).map(_.copy(_1 = "verify"))
          def marked(after: Option[Int], until: Option[Int], rows: Seq[(String, Any, Any)]) =
            Seq(("verify_begin", null, null)) ++ after.map(("verify_after", _, null)) ++ rows ++
              until.map(("verify_until", _, null)) :+ (("verify_end", null, null))
          until(query) {
            assert(
              transactions("cdc_verify_chunks").drop(3) == Seq(
                marked(None, Some(2), rows(1, 2) :+ (("verify_update", 2, "now"))),
                marked(Some(2), Some(4), rows(3, 4)),
                marked(Some(4), Some(6), Seq(("verify", 5, "now")) ++ rows(6)),
                marked(Some(6), None, Nil)
              ))
          }
          assert(query.recentProgress.map(_.numInputRows).count(Seq(5L, 6L, 3L).contains(_)) >= 4)
        }
      }
    }
  }

  for (step <- Seq("reload.requested", "reload.copied", "reload.complete", "capture.changes", "reload.stored");
    at <- 1 to 3)
    test(s"after an error at $step, $at, a load and a comparison continue with the next chunk", slowIf(at > 1): _*) {
      Using.resource(new Shop) { shop =>
        withTempDir { dir =>
          shop.run("INSERT INTO orders SELECT i, 'old ' || i FROM generate_series(1, 6) i")
          val name = s"cdc_chunk_${step.replace('.', '_')}_$at"
          def run(): Unit = availableNow(shop, name, dir, chunks :+ ("verify" -> "compare"): _*)
          def failing(): Unit = {
            Failpoints.arm(s"$step=fail@$at")
            try run()
            catch { case _: Exception => () }
            finally Failpoints.disarm()
            shop.run("UPDATE orders SET note = 'old 4' WHERE id = 4")
            run()
          }
          failing()
          val loaded = changes(name).filter(_._1 == "insert")
          assert(loaded.sortBy(_._2.toString) == inserts(1 to 6: _*))
          // A comparison whose copy fails is skipped.
          if (step != "reload.copied") {
            shop.run(verify)
            failing()
            val compared = changes(name).filter(_._1.startsWith("verify"))
            assert(compared.count(_._1 == "verify_begin") == 4)
            assert(compared.filter(_._1 == "verify").map(_._2) == (1 to 6))
            assert(compared.filter(_._1 == "verify_after").map(_._2) == Seq(2, 4, 6))
            assert(compared.filter(_._1 == "verify_until").map(_._2) == Seq(2, 4, 6))
          }
          assert(reloadFiles(dir).isEmpty)
        }
      }
    }
}
