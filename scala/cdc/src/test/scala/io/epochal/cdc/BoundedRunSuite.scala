package io.epochal.cdc

import java.io.File

import scala.annotation.nowarn
import scala.util.Using

import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.{Condition, Conditions}
import io.epochal.jdbc.{PostgresServer, TestServer}

/** Runs that end by themselves, and meet an error first: the changes before it are delivered. */
final class BoundedRunSuite extends CdcQueries {

  /** Long after any end; a run that waits for ever fails here. */
  private val Deadline = 150000L

  private def run(shop: Shop, name: String, checkpoint: String, options: (String, String)*): Unit = {
    val query = start(shop.read(options: _*), name, checkpoint, Trigger.AvailableNow())
    try assert(query.awaitTermination(Deadline), "it waits for an end that cannot come")
    finally query.stop()
  }

  private def fails(condition: Condition)(body: => Any): Unit = refused(condition)(body): Unit

  /** A run that copies a row, then statements. */
  private def after(name: String, sql: String*)(body: (Shop, String) => Any): Unit =
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders VALUES (0, 'copied')")
        run(shop, s"${name}_copy", dir.toString)
        sql.foreach(shop.run(_))
        body(shop, dir.toString): Unit
      }
    }

  private val addition = Seq(
    "INSERT INTO orders VALUES (1, 'before')",
    "INSERT INTO orders VALUES (2, 'before')",
    "ALTER TABLE orders ADD COLUMN price int",
    "INSERT INTO orders VALUES (3, 'after', 3)")

  private val before = Seq(("insert", 1, "before"), ("insert", 2, "before"))

  test("changes before an added column are delivered, then TABLE_CHANGED ends the run") {
    after("cdc_bounded_column", addition: _*) { (shop, checkpoint) =>
      fails(Conditions.TableChanged)(run(shop, "cdc_bounded_column", checkpoint))
      assert(changes("cdc_bounded_column") == before)
      fails(Conditions.TableChanged)(run(shop, "cdc_bounded_column_2", checkpoint))
      assert(changes("cdc_bounded_column_2").isEmpty)
    }
  }

  test("changes before a TRUNCATE are delivered in batches, then TABLE_TRUNCATED ends the run") {
    val statements = Seq(
      "INSERT INTO orders SELECT i, 'before' FROM generate_series(1, 5) i",
      "TRUNCATE orders",
      "INSERT INTO orders VALUES (6, 'after')")
    after("cdc_bounded_truncate", statements: _*) { (shop, checkpoint) =>
      fails(Conditions.TableTruncated)(run(shop, "cdc_bounded_truncate", checkpoint, "maxRowsPerBatch" -> "2"))
      assert(changes("cdc_bounded_truncate") == (1 to 5).map(("insert", _, "before")))
      assert(commits(new File(checkpoint)).size == 4)
    }
  }

  test("Trigger.Once delivers the changes before an error, and the next run ends with it") {
    @nowarn("cat=deprecation") def once(shop: Shop, checkpoint: String): Unit = {
      val query: StreamingQuery = start(shop.read(), "cdc_bounded_once", checkpoint, Trigger.Once())
      try assert(query.awaitTermination(Deadline))
      finally query.stop()
    }
    after("cdc_bounded_once", addition: _*) { (shop, checkpoint) =>
      once(shop, checkpoint)
      assert(changes("cdc_bounded_once") == before)
      fails(Conditions.TableChanged)(once(shop, checkpoint))
      assert(changes("cdc_bounded_once") == before)
    }
  }

  test("a first run whose slot has a foreign reader copies the table, then ends with SLOT_IN_USE", Slow) {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run(
          "INSERT INTO orders VALUES (1, 'a')",
          s"CREATE PUBLICATION ${shop.name} FOR TABLE orders",
          s"SELECT pg_create_logical_replication_slot('${shop.name}', 'pgoutput')")
        val foreign = CdcOptions.read(Map("url" -> shop.url, "dbtable" -> "orders")).fold(throw _, identity).server
        Using.resource(foreign.stream(shop.name, shop.name, 0, binary = false, messages = false)) { reader =>
          // Else the server ends it after a minute.
          val replies = new Thread(() => while (!Thread.interrupted()) { reader.poll(): Unit; Thread.`yield`() })
          replies.setDaemon(true)
          replies.start()
          try fails(Conditions.SlotInUse)(run(shop, "cdc_bounded_foreign", dir.toString))
          finally {
            replies.interrupt()
            replies.join()
          }
          assert(changes("cdc_bounded_foreign") == Seq(("insert", 1, "a")))
        }
      }
    }
  }

  test("a slot from before its publication: PostgreSQL 13 cannot decode what was between") {
    withOldSlot(PostgresServer.oldest.fold(TestServer.missing("postgres"), identity)) { (shop, checkpoint) =>
      val error = refused(Conditions.SlotLost)(run(shop, "cdc_bounded_old", checkpoint))
      assert(error.getMessage.contains(s"pg_drop_replication_slot('${shop.name}')"))
      assert(changes("cdc_bounded_old") == Seq(("insert", 1, "between")))
    }
  }

  test("a slot from before its publication: the newest PostgreSQL leaves out what was between") {
    withOldSlot(server) { (shop, checkpoint) =>
      run(shop, "cdc_bounded_old_new", checkpoint)
      assert(changes("cdc_bounded_old_new") == Seq(("insert", 1, "between")))
    }
  }

  private def withOldSlot(on: String)(body: (Shop, String) => Any): Unit = Using.resource(new Shop(on)) { shop =>
    withTempDir { dir =>
      shop.run(
        s"SELECT pg_create_logical_replication_slot('${shop.name}', 'pgoutput')",
        "INSERT INTO orders VALUES (1, 'between')",
        s"CREATE PUBLICATION ${shop.name} FOR TABLE orders"
      )
      body(shop, dir.toString): Unit
    }
  }
}
