package io.epochal.cdc

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.sql.DriverManager
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.test.QuerySuite
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.tags.Slow
import org.scalatest.time.{Seconds, Span}

import io.epochal.core.error.{Condition, Conditions, EpochalException}
import io.epochal.jdbc.{PostgresServer, TestServer}
import io.epochal.support.{Collected, Collecting}

/** `CHANGES` of Spark, and the tables of the catalog, on a real server. */
@Slow
final class ChangesSuite extends QuerySuite {
  private val names = new AtomicInteger
  private lazy val server = PostgresServer.url.fold(TestServer.missing("postgres"), identity)

  /** A database of its own as the catalog `name`, with `orders (id int PRIMARY KEY, note text, at timestamp)`, and a slot and a
    * publication of that name.
    */
  final private class Shop(options: (String, String)*) extends AutoCloseable {
    val name = s"changes_${ProcessHandle.current.pid}_${names.incrementAndGet()}"
    val orders = s"$name.public.orders"
    admin(s"CREATE DATABASE $name")
    private val url = server.replaceFirst("/[^/?]*(?=\\?|$)", s"/$name")
    run(
      "CREATE TABLE orders (id int PRIMARY KEY, note text, at timestamp)",
      "ALTER TABLE orders REPLICA IDENTITY FULL",
      s"CREATE PUBLICATION $name FOR TABLE orders",
      s"SELECT pg_create_logical_replication_slot('$name', 'pgoutput')")
    spark.conf.set(s"spark.sql.catalog.$name", classOf[EpochalPostgresCatalog].getName)
    (Seq("url" -> url) ++ options).foreach { case (option, value) =>
      spark.conf.set(s"spark.sql.catalog.$name.$option", value)
    }

    def run(sql: String*): Unit = Using.resource(DriverManager.getConnection(url)) { connection =>
      Using.resource(connection.createStatement())(statement => sql.foreach(statement.execute(_)))
    }

    def text(query: String): String = Using.resource(DriverManager.getConnection(url)) { connection =>
      Using.resource(connection.createStatement()) { statement =>
        val rows = statement.executeQuery(query)
        rows.next()
        rows.getString(1)
      }
    }

    private def admin(sql: String*): Unit = Using.resource(DriverManager.getConnection(server)) { connection =>
      Using.resource(connection.createStatement())(statement => sql.foreach(statement.execute(_)))
    }

    override def close(): Unit = {
      val slots = s"FROM pg_replication_slots WHERE database = '$name'"
      admin(s"SELECT pg_terminate_backend(active_pid) $slots AND active")
      eventually(timeout(Span(30, Seconds)))(assert(text(s"SELECT count(*) $slots AND active") == "0"))
      admin(s"SELECT pg_drop_replication_slot(slot_name) $slots", s"DROP DATABASE $name WITH (FORCE)")
    }
  }

  private def withShop(options: (String, String)*)(body: Shop => Any): Unit =
    Using.resource(new Shop(options: _*)) { shop => body(shop); () }

  /** Six changes: two transactions, and one. */
  private def change(shop: Shop): Unit = {
    shop.run("BEGIN; INSERT INTO orders VALUES (1, 'a'), (2, 'b'); UPDATE orders SET note = 'c' WHERE id = 1; COMMIT")
    shop.run("DELETE FROM orders WHERE id = 2")
    shop.run("INSERT INTO orders VALUES (3, 'd')")
  }

  private val six = Seq(
    ("insert", 1, "a"),
    ("insert", 2, "b"),
    ("update_preimage", 1, "a"),
    ("update_postimage", 1, "c"),
    ("delete", 2, "b"),
    ("insert", 3, "d"))

  private def kinds(rows: Seq[Row]): Seq[(String, Any, Any)] =
    rows.map(row => (row.getAs[String]("_change_type"), row.getAs[Any]("id"), row.getAs[Any]("note")))

  private def batch(shop: Shop, options: (String, String)*): DataFrame =
    spark.read.options(Map("slot" -> shop.name) ++ options).changes(shop.orders)

  private def streamed(rows: DataFrame, name: String, checkpoint: String): Unit = {
    val query: StreamingQuery = rows.writeStream
      .foreach(new Collecting(name))
      .option("checkpointLocation", checkpoint)
      .trigger(Trigger.AvailableNow())
      .start()
    query.awaitTermination()
  }

  /** As the extended EXPLAIN prints it. */
  private def plan(rows: DataFrame): String = {
    val out = new ByteArrayOutputStream
    Console.withOut(out)(rows.explain(true))
    out.toString(UTF_8)
  }

  private def refused(condition: Condition)(body: => Any): String = {
    val error = intercept[Throwable] { body; () }
    val ours = Iterator.iterate(error)(_.getCause).takeWhile(_ != null).collectFirst { case e: EpochalException => e }
    assert(ours.exists(_.condition == condition), error)
    ours.get.getMessage
  }

  test("a batch has the changes between two versions, and the server keeps them") {
    withShop() { shop =>
      change(shop)
      val confirmed =
        shop.text("SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = current_database()")
      val all = batch(shop).collect().toSeq
      assert(kinds(all) == six)
      assert(
        batch(shop).columns.toSeq == Seq("id", "note", "at", "_change_type", "_commit_version", "_commit_timestamp"))
      val versions = all.map(_.getAs[String]("_commit_version"))
      assert(versions == versions.sorted && versions.distinct.size == 5)

      def from(clause: String): Seq[(String, Any, Any)] =
        kinds(
          spark.sql(s"SELECT * FROM ${shop.orders} CHANGES FROM $clause WITH (slot = '${shop.name}')").collect().toSeq)
      assert(from(s"VERSION '${versions(1)}' TO VERSION '${versions(4)}'") == six.slice(1, 5))
      assert(from(s"VERSION '${versions(1)}' EXCLUSIVE TO VERSION '${versions(4)}' EXCLUSIVE") == six.slice(2, 4))
      assert(from(s"VERSION '${versions(2)}' EXCLUSIVE") == six.drop(4))
      // A position in the log is a whole transaction.
      val first = s"${versions.head.take(8)}/${versions.head.slice(8, 16)}"
      assert(from(s"VERSION '$first' TO VERSION '$first'") == six.take(4))
      assert(from(s"VERSION '$first' EXCLUSIVE") == six.drop(4))
      assert(batch(shop, "startingVersion" -> versions(4)).count() == 2)
      assert(
        shop.text(
          "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = current_database()") == confirmed)
    }
  }

  test("a transaction of many frames is read as it arrives, and a task that stops early leaves the slot free") {
    withShop() { shop =>
      shop.run("INSERT INTO orders SELECT i, repeat(i::text, 20) FROM generate_series(1, 50000) i")
      assert(batch(shop).selectExpr("sum(id)", "count(DISTINCT _commit_version)").head() == Row(1250025000L, 50000L))
      assert(batch(shop).limit(3).collect().length == 3)
      assert(batch(shop).count() == 50000)
    }
  }

  test("a stream has the rows of the table, then changes with both images, over a restart") {
    withShop() { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders VALUES (7, 'old')")
        def read(options: (String, String)*) =
          spark.readStream.options(Map("slot" -> shop.name, "numPartitions" -> "1") ++ options).changes(shop.orders)
        val (first, second, later) = (s"${shop.name}_1", s"${shop.name}_2", s"${shop.name}_3")
        streamed(read(), first, s"$dir/a")
        assert(kinds(Collected.of(first)) == Seq(("insert", 7, "old")))
        change(shop)
        streamed(read(), second, s"$dir/a")
        assert(kinds(Collected.of(second)) == six)

        shop.run("SELECT pg_create_logical_replication_slot(current_database() || '_later', 'pgoutput')")
        val options = Seq("slot" -> s"${shop.name}_later", "publication" -> shop.name)
        shop.run("INSERT INTO orders VALUES (8, 'skipped')")
        val position = shop.text("SELECT pg_current_wal_lsn()")
        shop.run("INSERT INTO orders VALUES (9, 'new')")
        streamed(read((options :+ "startingVersion" -> position): _*), later, s"$dir/b")
        assert(kinds(Collected.of(later)) == Seq(("insert", 9, "new")))
        val middle = options :+ ("startingVersion" -> "00000000016B3748/0000000002")
        val message = refused(Conditions.ModeUnsupported)(streamed(read(middle: _*), "none", s"$dir/c"))
        assert(message.contains("startingVersion"))
      }
    }
  }

  test("tables are read, written and joined with their changes") {
    withShop() { shop =>
      shop.run("INSERT INTO orders VALUES (1, 'new', '2026-01-02 03:04:05')", "CREATE TABLE other (id int PRIMARY KEY)")
      val table = spark.table(shop.orders)
      assert(table.collect().toSeq == Seq(Row(1, "new", java.time.LocalDateTime.of(2026, 1, 2, 3, 4, 5))))
      assert(batch(shop).schema("at").dataType == table.schema("at").dataType)
      val joined =
        spark.sql(s"""SELECT o.note, c._change_type FROM ${shop.orders} o
                     |JOIN ${shop.orders} CHANGES FROM VERSION '${shop.text(
                      "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = current_database()")}'
                     | WITH (slot = '${shop.name}') AS c ON o.id = c.id""".stripMargin)
      assert(joined.collect().toSeq == Seq(Row("new", "insert")))
      assert(spark.sql(s"SHOW TABLES IN ${shop.name}.public").count() == 2)
    }
  }

  test("net changes leave the last state of each row") {
    withShop() { shop =>
      change(shop)
      val net = batch(shop, "deduplicationMode" -> "netChanges").collect().toSeq
      assert(kinds(net).toSet == Set(("insert", 1, "c"), ("insert", 3, "d")))
      shop.run("ALTER TABLE orders DROP CONSTRAINT orders_pkey")
      assert(kinds(batch(shop).collect().toSeq) == six)
      val message = refused(Conditions.ModeUnsupported)(batch(shop, "deduplicationMode" -> "netChanges"))
      assert(message.contains("primary key"))
    }
  }

  test("a table without REPLICA IDENTITY FULL is refused by name, and so are reads that the slot cannot serve") {
    withShop("slot" -> "absent", "publication" -> "absent") { shop =>
      shop.run("ALTER TABLE orders REPLICA IDENTITY DEFAULT")
      Seq(() => batch(shop), () => spark.readStream.changes(shop.orders)).foreach { read =>
        val message = refused(Conditions.CaptureNotReady)(read())
        assert(message.contains("public.orders") && message.contains("REPLICA IDENTITY FULL;"))
      }
      shop.run("ALTER TABLE orders REPLICA IDENTITY FULL")
      def read(options: (String, String)*) = spark.read.options(options.toMap).changes(shop.orders).collect()
      val slot = "slot" -> shop.name
      val missing = refused(Conditions.CaptureNotReady)(read())
      assert(missing.contains("pg_create_logical_replication_slot('absent'"))
      refused(Conditions.SlotLost)(read(slot, "publication" -> shop.name, "startingVersion" -> "0/1"))
      Seq("startingVersion" -> "7", "startingTimestamp" -> "2026-01-01")
        .foreach(bound => refused(Conditions.ModeUnsupported)(read(slot, bound)))
      refused(Conditions.OptionInvalid)(read(slot, "onTruncate" -> "emit"))
      refused(Conditions.OptionUnknown)(read(slot, "slots" -> "x"))
      refused(Conditions.TableMissing)(spark.read.option("slot", shop.name).changes(s"${shop.name}.public.order_"))
    }
    withShop() { shop =>
      val message = refused(Conditions.OptionRequired)(spark.read.changes(shop.orders).collect())
      assert(message.contains("'slot'"))
    }
  }

  test("no plan and no event has the password, of the catalog or of a read") {
    val (ours, other) = ("sesame-of-catalog", "sesame-of-read")
    withShop("user" -> "postgres", "password" -> ours) { shop =>
      withTempDir { dir =>
        change(shop)
        val events = new ConcurrentLinkedQueue[String]
        val listener = new SparkListener {
          override def onOtherEvent(event: SparkListenerEvent): Unit = events.add(event.toString): Unit
        }
        spark.sparkContext.addSparkListener(listener)
        try {
          val rows = batch(shop, "password" -> other)
          assert(rows.join(spark.table(shop.orders), "id").count() > 0)
          val stream = spark.readStream.options(Map("slot" -> shop.name, "password" -> other)).changes(shop.orders)
          streamed(stream, s"${shop.name}_secret", dir.toString)
          assert(Collected.of(s"${shop.name}_secret").nonEmpty)
          eventually(timeout(Span(30, Seconds)))(assert(events.asScala.exists(_.contains("StreamingQueryListener"))))
          assert(events.asScala.exists(_.contains("epochal-cdc")))
          val texts = events.asScala.toSeq ++ Seq(rows, stream).map(plan)
          Seq(ours, other).foreach(secret => assert(!texts.exists(_.contains(secret)), texts.find(_.contains(secret))))
        } finally spark.sparkContext.removeSparkListener(listener)
      }
    }
  }
}
