package io.epochal.cdc

import java.io.File
import java.nio.file.Files

import scala.util.Using

import org.apache.logging.log4j.Level
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.epochal.cdc.change.{CommittedTransaction, MarkerFiles}
import io.epochal.cdc.slot.DdlTrigger
import io.epochal.core.error.{Condition, Conditions, EpochalException}
import io.epochal.jdbc.{PostgresServer, TestServer}
import io.epochal.support.{Collected, LoggedLines}

/** Queries whose server changes in a way that the log does not show. */
final class CatalogQuerySuite extends CdcQueries {

  private def withShop(body: (Shop, String) => Any): Unit =
    Using.resource(new Shop)(shop => withTempDir(dir => body(shop, dir.toString)): Unit)

  private def ended(query: StreamingQuery, condition: Condition = Conditions.CaptureChanged): EpochalException =
    refused(condition)(query.awaitTermination(60000))

  private def token(error: EpochalException): String =
    "acceptChange=([0-9a-f]+)".r.findFirstMatchIn(error.getMessage).map(_.group(1)).mkString

  /** The statement of a hint. */
  private def statement(error: EpochalException): String = "SELECT [^;]*".r.findFirstIn(error.getMessage).mkString

  private def ids(name: String): Seq[Any] = changes(name).map(_._2)

  private val beats = "heartbeatInterval" -> "200ms"

  test(
    "a change under a running query ends it after the rows before; following the hint continues, and reloads the table") {
    withShop { (shop, dir) =>
      shop.run(
        "CREATE TYPE mood AS ENUM ('sad')",
        "ALTER TABLE orders ADD mood mood",
        "INSERT INTO orders VALUES (1, 'a', 'sad')")
      val query = start(shop.read(beats), "cdc_label", dir)
      until(query)(assert(ids("cdc_label") == Seq(1)))
      shop.run("INSERT INTO orders VALUES (2, 'b', 'sad')", "ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'")
      val error = ended(query)
      assert(error.getMessage.contains("the label sad of public.mood was renamed") && ids("cdc_label") == Seq(1, 2))
      shop.run("INSERT INTO orders VALUES (3, 'c', 'blue')")
      // The rows before the error, as of the start of the run, are delivered, and the error stays.
      assert(token(ended(start(shop.read(beats), "cdc_label_again", dir))) == token(error))
      stopped(start(shop.read(beats, "acceptChange" -> token(error)), "cdc_accepted", dir)) {
        val query = spark.streams.active.head
        shop.run("INSERT INTO orders VALUES (4, 'd', 'blue')")
        until(query)(assert((ids("cdc_label_again") ++ ids("cdc_accepted")).distinct == Seq(3, 4)))
        query.processAllAvailable()
      }
      // The option may be left out later.
      shop.run(statement(error))
      stopped(start(shop.read(beats), "cdc_reloaded", dir))(until(spark.streams.active.head) {
        val rows = Collected.of("cdc_reloaded").map(_.getAs[String]("mood"))
        assert(changes("cdc_reloaded").head._1 == "truncate" && rows.tail == Seq.fill(4)("blue"))
      })
    }
  }

  test("a bounded run delivers the rows before the error, and every later run ends with it") {
    withShop { (shop, dir) =>
      def run(name: String) = start(shop.read(), name, dir, Trigger.AvailableNow())
      shop.run("INSERT INTO orders VALUES (1, 'a')")
      run("cdc_bounded").awaitTermination()
      shop.run("INSERT INTO orders VALUES (2, 'b')", "ALTER TABLE orders DROP note, ADD note text")
      Seq("cdc_bounded_1", "cdc_bounded_2").foreach(name =>
        assert(ended(run(name)).getMessage.contains("note was dropped")))
      assert(ids("cdc_bounded_1") == Seq(2))
    }
  }

  test("rows behind a swap of names are not delivered under the wrong ones") {
    withShop { (shop, dir) =>
      shop.run("ALTER TABLE orders ADD memo text")
      val query = start(shop.read("heartbeatInterval" -> "10m"), "cdc_swapped", dir)
      until(query)(assert(query.lastProgress != null))
      shop.run("INSERT INTO orders VALUES (1, 'note', 'memo')")
      until(query)(assert(ids("cdc_swapped") == Seq(1)))
      shop.run(
        "ALTER TABLE orders RENAME note TO old",
        "ALTER TABLE orders RENAME memo TO note",
        "ALTER TABLE orders RENAME old TO memo",
        "INSERT INTO orders VALUES (2, 'memo', 'note')")
      val error = ended(query)
      assert(ids("cdc_swapped") == Seq(1))
      stopped(start(shop.read("acceptChange" -> token(error)), "cdc_swapped_on", dir)) {
        until(spark.streams.active.head)(assert(changes("cdc_swapped_on") == Seq(("insert", 2, "memo"))))
      }
    }
  }

  test("with the event trigger, a change has its place in the log, between two heartbeats") {
    withShop { (shop, dir) =>
      shop.run(DdlTrigger.Create, "INSERT INTO orders VALUES (1, 'a')")
      val query = start(shop.read("heartbeatInterval" -> "10m"), "cdc_ddl", dir)
      until(query)(assert(ids("cdc_ddl") == Seq(1)))
      shop.run(
        "INSERT INTO orders VALUES (2, 'b')",
        "CREATE TABLE other (id int)",
        "ALTER TABLE orders SET (fillfactor = 50)",
        "INSERT INTO orders VALUES (3, 'c')",
        s"ALTER PUBLICATION ${shop.name} SET (publish = 'insert')",
        "INSERT INTO orders VALUES (4, 'd')",
        s"ALTER PUBLICATION ${shop.name} SET (publish = 'insert, update, delete, truncate')"
      )
      assert(ended(query).getMessage.contains("publication"))
      assert(ids("cdc_ddl").take(2) == Seq(1, 2) && !ids("cdc_ddl").contains(4))
    }
  }

  test("with the event trigger, a table that is unlogged for a while ends the query") {
    withShop { (shop, dir) =>
      shop.run(
        DdlTrigger.Create,
        s"CREATE PUBLICATION ${shop.name} FOR ALL TABLES",
        "INSERT INTO orders VALUES (1, 'a')")
      val query = start(shop.read("heartbeatInterval" -> "10m"), "cdc_unlogged", dir)
      until(query)(assert(ids("cdc_unlogged") == Seq(1)))
      shop.run(
        "ALTER TABLE orders SET UNLOGGED",
        "INSERT INTO orders VALUES (2, 'b')",
        "ALTER TABLE orders SET LOGGED",
        "INSERT INTO orders VALUES (3, 'c')")
      val error = ended(query)
      assert(error.getMessage.contains("public.orders was unlogged") && ids("cdc_unlogged") == Seq(1))
      stopped(start(shop.read("acceptChange" -> token(error)), "cdc_logged", dir)) {
        until(spark.streams.active.head)(assert(ids("cdc_logged") == Seq(3)))
      }
    }
  }

  test(
    "a publication of PostgreSQL 15 that was created again has the same error, since its server decodes no change from before") {
    Using.resource(new Shop(PostgresServer.icu.fold(TestServer.missing("postgres"), identity))) { shop =>
      withTempDir { dir =>
        def run(name: String) = start(shop.read(), name, dir.toString, Trigger.AvailableNow())
        shop.run("INSERT INTO orders VALUES (0, 'copied')")
        run("cdc_publication_15").awaitTermination()
        shop.run(
          s"DROP PUBLICATION ${shop.name}",
          "INSERT INTO orders VALUES (1, 'a')",
          s"CREATE PUBLICATION ${shop.name} FOR TABLE orders",
          "INSERT INTO orders VALUES (2, 'b')")
        assert(ended(run("cdc_publication_15_again")).getMessage.contains("was dropped and created again"))
      }
    }
  }

  test("a publication that is dropped, or created again, ends the query with what loads the table again") {
    withShop { (shop, dir) =>
      shop.run("INSERT INTO orders VALUES (1, 'a')")
      def run(name: String, dir: String) = start(shop.read(), name, dir, Trigger.AvailableNow())
      run("cdc_publication", s"$dir/a").awaitTermination()
      shop.run(s"DROP PUBLICATION ${shop.name}", "INSERT INTO orders VALUES (2, 'b')")
      val dropped = ended(run("cdc_publication_dropped", s"$dir/a"))
      assert(dropped.getMessage.contains(s"the publication ${shop.name} was dropped"))
      shop.run(s"CREATE PUBLICATION ${shop.name} FOR TABLE orders")
      val error = refused(Conditions.CaptureChanged)(run("cdc_publication_again", s"$dir/a").awaitTermination(60000))
      assert(error.getMessage.contains("was dropped and created again"))
      shop.run(statement(error))
      run("cdc_publication_loaded", s"$dir/b").awaitTermination()
      assert(ids("cdc_publication_loaded").toSet == Set(1, 2))
    }
  }

  test("TRUNCATE of a partitioned table is a row, that of a partition ends the query") {
    withShop { (shop, dir) =>
      shop.run(
        "CREATE TABLE parts (id int PRIMARY KEY, note text) PARTITION BY RANGE (id)",
        "CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE part_2 PARTITION OF parts FOR VALUES FROM (10) TO (20)",
        "INSERT INTO parts VALUES (1, 'a'), (11, 'b')")
      val query = start(shop.read("dbtable" -> "parts", "onTruncate" -> "emit", beats), "cdc_parts", dir)
      until(query)(assert(ids("cdc_parts").toSet == Set(1, 11)))
      shop.run("TRUNCATE parts", "INSERT INTO parts VALUES (2, 'c'), (12, 'd')")
      until(query)(assert(changes("cdc_parts").drop(2).map(_._1) == Seq("truncate", "insert", "insert")))
      shop.run("TRUNCATE part_1")
      assert(ended(query).getMessage.contains("the rows of the partition public.part_1 were removed"))
    }
  }

  test("maxSlotLag is checked when a run begins") {
    withShop { (shop, dir) =>
      def run(name: String) = start(shop.read("maxSlotLag" -> "1m"), name, dir, Trigger.AvailableNow())
      run("cdc_lag").awaitTermination()
      shop.run("SELECT pg_logical_emit_message(true, 'test', repeat('x', 3000000))")
      ended(run("cdc_lag_again"), Conditions.SlotLagExceeded)
    }
  }

  test("a publication without updates is refused, unless the query's operations exclude them") {
    withShop { (shop, dir) =>
      shop.run(s"CREATE PUBLICATION ${shop.name} FOR TABLE orders WITH (publish = 'insert')")
      val error = refused(Conditions.CaptureNotReady)(shop.read())
      assert(error.getMessage.contains("operations: insert"))
      refused(Conditions.OptionInvalid)(shop.read("operations" -> "insert,upsert"))
      shop.run("INSERT INTO orders VALUES (1, 'a')")
      stopped(start(shop.read("operations" -> "insert"), "cdc_inserts", dir)) {
        until(spark.streams.active.head)(assert(ids("cdc_inserts") == Seq(1)))
      }
    }
  }

  /** A query of declared columns, on a checkpoint. */
  private def declared(shop: Shop, columns: String, more: (String, String)*) = spark.readStream
    .format("epochal-cdc")
    .schema(columns)
    .options(Map("url" -> shop.url, "dbtable" -> "orders", "slot" -> shop.name, "numPartitions" -> "1", beats) ++ more)
    .load()

  test("a schema without columns that are dropped, renamed or retyped works from the start, and on a checkpoint") {
    withShop { (shop, dir) =>
      shop.run("ALTER TABLE orders ADD a text, ADD b int, ADD c int", "INSERT INTO orders VALUES (1, 'x', 'a', 1, 1)")
      val from = start(declared(shop, "id INT, note STRING"), "cdc_declared", s"$dir/a")
      val whole = start(shop.read(beats, "slot" -> s"${shop.name}_whole"), "cdc_whole", s"$dir/b")
      Seq(from -> "cdc_declared", whole -> "cdc_whole").foreach { case (query, name) =>
        until(query)(assert(ids(name) == Seq(1)))
        query.processAllAvailable()
      }
      shop.run(
        "ALTER TABLE orders DROP a",
        "ALTER TABLE orders ALTER c TYPE bigint USING c * 10",
        "INSERT INTO orders VALUES (2, 'y')")
      until(from)(assert(ids("cdc_declared") == Seq(1, 2)))
      val error = ended(whole, Conditions.TableChanged)
      assert(error.getMessage.contains("another type of c, without a"))
      val again = declared(shop, "id INT, note STRING, b INT", "slot" -> s"${shop.name}_whole")
      stopped(start(again, "cdc_part", s"$dir/b"))(until(spark.streams.active.filterNot(_ == from).head) {
        assert(changes("cdc_part") == Seq(("insert", 2, "y")))
      })
      // A column with a new name is one that was added.
      shop.run("ALTER TABLE orders RENAME b TO d", "INSERT INTO orders VALUES (3, 'z')")
      assert(ended(from, Conditions.TableChanged).getMessage.contains("with d"))
      val adopting = declared(shop, "id INT, note STRING", "onSchemaChange" -> "adopt")
      stopped(start(adopting, "cdc_adopting", s"$dir/a"))(until(spark.streams.active.head) {
        assert(changes("cdc_adopting") == Seq(("insert", 3, "z")))
      })
      shop.run(s"SELECT pg_drop_replication_slot('${shop.name}_whole')")
    }
  }

  test("a column that was added and dropped while the query was stopped is no change") {
    withShop { (shop, dir) =>
      def run(name: String) = start(shop.read(), name, dir, Trigger.AvailableNow()).awaitTermination()
      shop.run("INSERT INTO orders VALUES (1, 'a')")
      run("cdc_passing")
      shop.run(
        "ALTER TABLE orders ADD passing text",
        "INSERT INTO orders VALUES (2, 'b', 'c')",
        "ALTER TABLE orders DROP passing",
        "INSERT INTO orders VALUES (3, 'd')")
      run("cdc_passed")
      assert(changes("cdc_passed") == Seq(("insert", 2, "b"), ("insert", 3, "d")))
      shop.run("INSERT INTO orders VALUES (4, 'e')")
      run("cdc_passed_again")
      assert(changes("cdc_passed_again") == Seq(("insert", 4, "e")))
    }
  }

  test("a type that gets wider needs no new load, while the query runs and while it is stopped") {
    withShop { (shop, dir) =>
      shop.run("ALTER TABLE orders ADD code varchar(3), ADD price numeric(6, 2), ADD at timestamp(0)")
      def insert(id: Int) = shop.run(s"INSERT INTO orders VALUES ($id, 'n', 'abc', 1.50, '2026-01-01')")
      def row(name: String) =
        Collected.of(name).map(row => (row.get(0), row.getAs[String]("code"), row.getAs[Any]("price").toString))
      insert(1)
      val query = start(shop.read(beats), "cdc_wider", dir)
      until(query)(assert(row("cdc_wider") == Seq((1, "abc", "1.50"))))
      shop.run(
        "ALTER TABLE orders ALTER code TYPE varchar(5), ALTER price TYPE numeric(8, 2), ALTER at TYPE timestamp(3)")
      insert(2)
      shop.run("ALTER TABLE orders ALTER code TYPE text")
      insert(3)
      until(query)(assert(row("cdc_wider").map(_._1) == Seq(1, 2, 3)))
      query.processAllAvailable()
      query.stop()
      insert(4)
      shop.run(
        "ALTER TABLE orders ALTER price TYPE numeric(10, 2), ALTER at TYPE timestamp",
        "INSERT INTO orders VALUES (5, 'n', 'abcdef', 12345678.90)")
      stopped(start(shop.read(beats), "cdc_wider_again", dir)) {
        val found = Seq((4, "abc", "1.50"), (5, "abcdef", "12345678.90"))
        until(spark.streams.active.head)(assert(row("cdc_wider_again") == found))
      }
      // A value that the running query's type cannot hold is an error.
      val narrow = start(shop.read(beats), "cdc_narrow", dir)
      until(narrow)(assert(narrow.lastProgress != null))
      shop.run(
        "ALTER TABLE orders ALTER price TYPE numeric",
        "INSERT INTO orders VALUES (6, 'n', 'a', 123456789012.555)")
      ended(narrow, Conditions.ValueUnsupported)
    }
  }

  test("a checkpoint of an older release takes the catalog as it is") {
    withShop { (shop, dir) =>
      def run(name: String) = start(shop.read(), name, dir, Trigger.AvailableNow()).awaitTermination()
      def forget(): Unit = {
        val logs = new File(dir, "offsets").listFiles.filter(_.getName.matches("\\d+")).toSeq
        (new File(dir, "sources/0/initial-offset") +: logs).map(_.toPath).foreach { log =>
          val text = java.nio.file.Files.readString(log)
          java.nio.file.Files.writeString(log, text.replace(""","watched":true""", "")): Unit
          java.nio.file.Files.deleteIfExists(log.resolveSibling(s".${log.getFileName}.crc")): Unit
        }
        org.apache.commons.io.FileUtils.deleteQuietly(new File(dir, "sources/0/cdc/catalog")): Unit
      }
      run("cdc_older_release")
      val log = new File(dir, "sources/0/initial-offset").toPath
      assert(java.nio.file.Files.readString(log).contains(""","watched":true"""))
      forget()
      shop.run("INSERT INTO orders VALUES (1, 'a')")
      run("cdc_newer_release")
      assert(ids("cdc_newer_release") == Seq(1))
      shop.run("ALTER TABLE orders DROP note, ADD note text")
      ended(start(shop.read(), "cdc_newer_changed", dir, Trigger.AvailableNow()))
      // A column that was delivered, and is gone at the first start of this release.
      forget()
      shop.run("ALTER TABLE orders DROP note")
      val error = ended(start(shop.read(), "cdc_newer_lacking", dir, Trigger.AvailableNow()), Conditions.TableChanged)
      assert(error.getMessage.contains("without note"))
    }
  }

  test("a first start with another database that ended without a row binds the checkpoint to nothing") {
    for (starting <- Seq("latest", "initial")) Using.resources(new Shop, new Shop) { (wrong, shop) =>
      withTempDir { dir =>
        // The table has another OID, and another column.
        wrong.run("DROP TABLE orders", "CREATE TABLE orders (id int PRIMARY KEY, other text, note text)")
        val options = Seq("startingOffset" -> starting, "publication" -> "shop", beats)
        def read(one: Shop) = one.read(options: _*).select("id", "note", "_change_type")
        val failing = s"cdc_wrong_$starting"
        val first = start(read(wrong), failing, dir.toString)
        stopped(first)(until(first)(assert(first.lastProgress != null)))
        // Another server's numbers may be far ahead.
        val last = MarkerFiles.name(CommittedTransaction(Long.MaxValue, 1, 0, 0))
        Files.writeString(Files.createDirectories(dir.toPath.resolve("sources/0/cdc/witness")).resolve(last), last)
        val name = s"cdc_right_$starting"
        val lines = LoggedLines.of(Level.WARN) {
          val second = start(read(shop), name, dir.toString)
          until(second)(assert(second.lastProgress != null))
        }
        // The statement of the warning drops the first start's slot.
        val statements =
          lines.filter(_.contains(wrong.name)).flatMap("SELECT pg_drop_replication_slot[^;]*".r.findFirstIn(_))
        assert(statements.size == 1, lines)
        val slots = s"SELECT count(*) FROM pg_replication_slots WHERE slot_name = '${wrong.name}'"
        assert(wrong.text(slots) == "1")
        wrong.run(statements: _*)
        assert(wrong.text(slots) == "0")
        val second = spark.streams.active.find(_.name == name).get
        stopped(second) {
          shop.run("INSERT INTO orders VALUES (1, 'a')")
          until(second)(assert(Collected.of(name).map(row => (row.get(0), row.get(1))) == Seq((1, "a"))))
          shop.run("INSERT INTO orders VALUES (2, 'b')")
          until(second)(assert(Collected.of(name).size == 2))
        }
      }
    }
  }
}
