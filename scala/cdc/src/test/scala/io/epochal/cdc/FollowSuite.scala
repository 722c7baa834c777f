package io.epochal.cdc

import java.io.File

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.sql.Row
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.Failpoints
import io.epochal.support.Collected

/** Changes of tables that a query follows. */
final class FollowSuite extends CdcQueries {
  import FollowSuite._

  private val follow = Seq("onSchemaChange" -> "follow", "heartbeatInterval" -> "200ms")

  /** A shop with three orders, and what a query has delivered of it in some runs. */
  private class Followed(val shop: Shop, val checkpoint: File, isTyped: Boolean) {
    private var names = Seq.empty[String]

    def runs: Int = names.size

    def options: Seq[(String, String)] = follow ++ (if (isTyped) Seq("rows" -> "typed") else Nil)

    def start(trigger: Trigger, more: (String, String)*): StreamingQuery = {
      names :+= s"${shop.name}_${names.size}"
      FollowSuite.this.start(shop.read(options ++ more: _*), names.last, checkpoint.toString, trigger)
    }

    def availableNow(more: (String, String)*): Unit = start(Trigger.AvailableNow(), more: _*).awaitTermination()

    /** The run after one that is refused. */
    def accepted(change: String): Unit = {
      val error = refused(Conditions.CaptureChanged)(availableNow())
      assert(error.getMessage.contains(change))
      val token = "acceptChange=([0-9a-f]+)".r.findFirstMatchIn(error.getMessage).map(_.group(1)).mkString
      availableNow("acceptChange" -> token)
    }

    /** Continues until the body holds, each time that the query ends because the tables have changed. */
    def running(body: StreamingQuery => Unit): Unit = {
      val query = start(Trigger.ProcessingTime(0))
      try body(query)
      catch {
        case error: Throwable if query.exception.exists(outdated(_).nonEmpty) =>
          info(outdated(query.exception.get).fold(error.toString)(_.problem))
          running(body)
      } finally query.stop()
    }

    def rows: Seq[Map[String, String]] = of("public.orders")

    def of(table: String): Seq[Map[String, String]] = {
      val rows = names.flatMap(Collected.of(_)).map { row =>
        val isOf = !isTyped || row.getAs[String]("_table") == table
        val of = if (isTyped && isOf) row.getAs[Row](table) else row
        (row.getAs[String]("_change_type"), Option.when(isOf)(Option(of).fold(Map.empty[String, String])(values)))
      }
      rows
        .foldLeft(Map.empty[String, Map[String, String]]) {
          case (all, (_, None))             => all
          case (_, ("truncate", _))         => Map.empty
          case (all, ("delete", Some(row))) => all - row("id")
          case (all, (_, Some(row)))        => all + (row("id") -> row)
        }
        .toSeq
        .sortBy(_._1.toInt)
        .map(_._2)
    }

    def reloads: Int = names.flatMap(Collected.of(_)).count(_.getAs[String]("_change_type") == "truncate")

    def isEqual(without: Seq[String] = Nil): Unit = {
      val source = ofSource.map(_ -- without)
      val columns = source.headOption.fold(Set.empty[String])(_.keySet)
      val found = rows.map(row => columns.map(name => name -> row.getOrElse(name, "null")).toMap)
      assert(found == source)
    }

    private def ofSource: Seq[Map[String, String]] = {
      val text = shop.text(
        "SELECT coalesce(json_agg((SELECT json_object_agg(key, value) FROM json_each_text(row_to_json(o))) ORDER BY id), '[]') FROM orders o")
      mapper
        .readTree(text)
        .elements
        .asScala
        .map(_.properties.asScala.map(e => e.getKey -> e.getValue.asText).toMap)
        .toSeq
    }
  }

  private def values(row: Row): Map[String, String] =
    row.schema.fieldNames.toSeq.filterNot(_.startsWith("_")).map(name => name -> s"${row.getAs[Any](name)}").toMap

  private def outdated(error: Throwable): Option[EpochalException] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).collectFirst {
      case e: EpochalException if e.condition == Conditions.QueryOutdated => e
    }

  private def followed(isTyped: Boolean)(body: Followed => Any): Unit = Using.resource(new Shop) { shop =>
    withTempDir { dir =>
      shop.run(
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "ALTER TABLE orders ADD n int, ADD code varchar(3), ADD mood mood, ADD price numeric(6, 2)",
        "INSERT INTO orders SELECT i, 'note ' || i, i, 'abc', 'sad', 1.5 FROM generate_series(1, 3) i"
      )
      body(new Followed(shop, dir, isTyped)): Unit
    }
  }

  private val insert = "INSERT INTO orders (id) VALUES (4)"

  /** Statements, whether they end the query, and whether the table is reloaded. */
  private val changes = Seq[(String, Seq[String], Boolean, Boolean)](
    ("a new column", Seq("ALTER TABLE orders ADD added int", insert, "UPDATE orders SET added = id"), true, false),
    ("a new column with a DEFAULT", Seq("ALTER TABLE orders ADD added int NOT NULL DEFAULT 5", insert), true, true),
    ("an identity", Seq("ALTER TABLE orders ADD added int GENERATED ALWAYS AS IDENTITY", insert), true, true),
    ("a dropped column", Seq("ALTER TABLE orders DROP note", insert), true, false),
    (
      "a wider integer",
      Seq("ALTER TABLE orders ALTER n TYPE bigint", insert, "UPDATE orders SET n = 1 << 40"),
      true,
      true),
    ("another scale", Seq("ALTER TABLE orders ALTER price TYPE numeric(8, 3)", insert), true, true),
    ("a number from a text", Seq("ALTER TABLE orders ALTER note TYPE int USING length(note)", insert), true, true),
    (
      "a longer text",
      Seq("ALTER TABLE orders ALTER code TYPE varchar(9)", insert, "UPDATE orders SET code = '123456789'"),
      true,
      false),
    (
      "a column dropped and added again",
      Seq("ALTER TABLE orders DROP note, ADD note text DEFAULT 'new'", insert),
      false,
      true),
    ("values written again", Seq("ALTER TABLE orders ALTER note TYPE text USING upper(note)", insert), false, true),
    ("a renamed label", Seq("ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'", insert), false, true)
  )

  for ((what, statements, ends, reloads) <- changes; isTyped <- Seq(false, true)) {
    val rows = if (isTyped) "typed rows of several tables" else "rows of one table"
    test(s"$what: $rows follow it while the query runs") {
      followed(isTyped) { followed =>
        followed.running { query =>
          if (followed.runs == 1) {
            until(query)(assert(followed.rows.size == 3))
            followed.shop.run("UPDATE orders SET n = 10 WHERE id = 1" +: statements: _*)
          }
          until(query)(followed.isEqual())
          followed.shop.run("UPDATE orders SET n = -1 WHERE id = 2")
          until(query)(followed.isEqual())
          until(query)(assert(reloadFiles(followed.checkpoint).isEmpty))
        }
        assert((followed.runs > 1, followed.reloads) == (ends, if (reloads) 1 else 0))
      }
    }

    test(s"$what: $rows follow it while the query is stopped") {
      followed(isTyped) { followed =>
        followed.availableNow()
        followed.shop.run("UPDATE orders SET n = 10 WHERE id = 1" +: statements: _*)
        followed.availableNow()
        followed.isEqual()
        followed.shop.run("UPDATE orders SET n = -1 WHERE id = 2")
        followed.availableNow()
        followed.isEqual()
        assert(followed.reloads == (if (reloads) 1 else 0) && reloadFiles(followed.checkpoint).isEmpty)
      }
    }

    test(s"$what: $rows from before it are read again by the query that follows it") {
      // A kill before the commit of a batch.
      followed(isTyped) { followed =>
        followed.availableNow()
        followed.shop.run("UPDATE orders SET n = 10 WHERE id = 1", "DELETE FROM orders WHERE id = 3")
        followed.availableNow()
        val last = commits(followed.checkpoint).maxBy(_.getName.toInt)
        Seq(last, new File(last.getParentFile, s".${last.getName}.crc")).foreach(_.delete())
        followed.shop.run(statements: _*)
        followed.availableNow()
        followed.isEqual()
      }
    }
  }

  for (step <- Seq("reload.requested", "reload.complete", "reload.stored"))
    test(s"after an error at $step the changes of a retyped table are withheld until its rows are there") {
      followed(isTyped = true) { followed =>
        followed.availableNow()
        followed.shop.run("ALTER TABLE orders ALTER note TYPE int USING length(note)")
        Failpoints.arm(s"$step=fail@1")
        try intercept[Exception](followed.availableNow()): Unit
        finally Failpoints.disarm()
        followed.shop.run("UPDATE orders SET note = note + 1")
        followed.availableNow()
        followed.isEqual()
        assert(reloadFiles(followed.checkpoint).isEmpty)
      }
    }

  test("a renamed column is refused, and followed once it is accepted") {
    followed(isTyped = true) { followed =>
      followed.availableNow()
      followed.shop.run("ALTER TABLE orders RENAME note TO remark", insert)
      followed.accepted("without note, which is now remark")
      followed.isEqual()
      followed.availableNow()
      assert(followed.reloads == 1)
    }
  }

  test("a table that has left the publication is refused until it is back, and then reloaded") {
    followed(isTyped = true) { followed =>
      import followed.shop
      followed.availableNow()
      shop.run(s"ALTER PUBLICATION ${shop.name} DROP TABLE ONLY orders", insert)
      refused(Conditions.CaptureNotReady)(followed.availableNow()): Unit
      shop.run(s"ALTER PUBLICATION ${shop.name} ADD TABLE ONLY orders")
      followed.accepted("left the publication for a while")
      followed.isEqual()
    }
  }

  for ((what, statements, reloads) <- Seq[(String, Seq[String], Int)](
      (
        "a rename that was undone",
        Seq(
          "ALTER TABLE orders RENAME note TO remark",
          insert,
          "UPDATE orders SET remark = 'x'",
          "ALTER TABLE orders RENAME remark TO note"),
        1),
      (
        "a new column that was renamed",
        Seq("ALTER TABLE orders ADD c int", insert, "UPDATE orders SET c = 5", "ALTER TABLE orders RENAME c TO d"),
        1),
      (
        "a new column that was retyped",
        Seq(
          "ALTER TABLE orders ADD c text",
          insert,
          "UPDATE orders SET c = 'x'",
          "ALTER TABLE orders ALTER c TYPE int USING 5"),
        2),
      (
        "a type that came back",
        Seq(
          "ALTER TABLE orders ALTER n TYPE text",
          "UPDATE orders SET n = 'x'",
          "ALTER TABLE orders ALTER n TYPE int USING 5",
          insert),
        2),
      ("a new type and a new DEFAULT", Seq("ALTER TABLE orders ALTER n TYPE bigint, ADD c int DEFAULT 5", insert), 1),
      ("a generated column that is ordinary", Seq("ALTER TABLE orders ALTER generated DROP EXPRESSION", insert), 1),
      ("a composite type", Seq("ALTER TYPE pair ADD ATTRIBUTE c int", "ALTER TYPE pair DROP ATTRIBUTE a", insert), 1)
    ); isTyped <- Seq(false, true))
    test(s"$what while the query was stopped is followed${if (isTyped) ", with typed rows" else ""}") {
      followed(isTyped) { followed =>
        followed.shop.run(
          "CREATE TYPE pair AS (a text, b int)",
          "ALTER TABLE orders ADD pair pair, ADD generated int GENERATED ALWAYS AS (id * 2) STORED",
          "UPDATE orders SET pair = ('x', id)")
        followed.availableNow()
        followed.shop.run(statements: _*)
        followed.availableNow()
        followed.isEqual(without = if (what.startsWith("a generated")) Nil else Seq("generated", "pair"))
        followed.shop.run("UPDATE orders SET code = 'z' WHERE id = 1")
        followed.availableNow()
        followed.isEqual(without = if (what.startsWith("a generated")) Nil else Seq("generated", "pair"))
        assert(followed.reloads <= reloads && reloadFiles(followed.checkpoint).isEmpty)
      }
    }

  for (isTyped <- Seq(false, true))
    test(s"a column that is retyped within a transaction is followed${if (isTyped) ", with typed rows" else ""}") {
      followed(isTyped) { followed =>
        followed.running { query =>
          until(query)(assert(followed.rows.size >= 3))
          if (followed.runs == 1)
            followed.shop.transaction(
              "INSERT INTO orders (id, note) VALUES (5, 'five')",
              "UPDATE orders SET note = 'changed' WHERE id = 1",
              "ALTER TABLE orders ALTER note TYPE int USING length(note)",
              "UPDATE orders SET note = 100 WHERE id = 2")
          until(query)(followed.isEqual())
          until(query)(assert(reloadFiles(followed.checkpoint).isEmpty))
        }
      }
    }

  test("a value that a new column got in rows of a table that had none at the first start is followed") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        val followed = new Followed(shop, dir, isTyped = true)
        followed.availableNow()
        shop.run("INSERT INTO orders VALUES (1, 'a')", "ALTER TABLE orders ADD c int DEFAULT 5")
        followed.availableNow()
        followed.isEqual()
      }
    }
  }

  test("a query that changes of its tables are withheld from continues after errors while later changes are stored") {
    followed(isTyped = true) { followed =>
      followed.availableNow()
      followed.shop.run("ALTER TABLE orders ALTER note TYPE int USING length(note)")
      for (step <- Seq("capture.changes", "capture.confirmed", "reload.complete", "reload.stored"); count <- 1 to 3) {
        Failpoints.arm(s"$step=fail@$count")
        try Try(followed.availableNow()): Unit
        finally Failpoints.disarm()
        followed.shop.transaction(
          "UPDATE orders SET n = n + 1",
          "INSERT INTO orders (id) SELECT max(id) + 1 FROM orders")
      }
      followed.availableNow()
      followed.isEqual()
      assert(reloadFiles(followed.checkpoint).isEmpty)
    }
  }

  test("a publication that is altered while the query runs is refused, and reloaded once it is accepted") {
    followed(isTyped = true) { followed =>
      import followed.shop
      val query = followed.start(Trigger.ProcessingTime(0))
      until(query)(assert(followed.rows.size == 3))
      shop.run(s"ALTER PUBLICATION ${shop.name} SET (publish = 'insert')", "UPDATE orders SET n = 7")
      assert(refused(Conditions.CaptureChanged)(query.awaitTermination()).getMessage.contains("was altered"))
      refused(Conditions.CaptureNotReady)(followed.availableNow()): Unit
      shop.run(s"ALTER PUBLICATION ${shop.name} SET (publish = 'insert, update, delete, truncate')")
      shop.run("UPDATE orders SET n = 8 WHERE id = 1")
    }
  }

  test("a partition that is attached with rows is followed while the query runs") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run(
          "DROP TABLE orders",
          "CREATE TABLE orders (id int PRIMARY KEY, note text) PARTITION BY RANGE (id)",
          "CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM (0) TO (10)",
          "CREATE TABLE orders_2 (id int PRIMARY KEY, note text)",
          "INSERT INTO orders VALUES (1, 'a')",
          "INSERT INTO orders_2 VALUES (20, 'b')"
        )
        val followed = new Followed(shop, dir, isTyped = true)
        followed.running { query =>
          until(query)(assert(followed.rows.size == 1))
          shop.run("ALTER TABLE orders ATTACH PARTITION orders_2 FOR VALUES FROM (10) TO (30)")
          until(query)(followed.isEqual())
          assert(followed.rows.size == 2)
        }
      }
    }
  }

  test("a table that is created in the schema is followed, with its rows") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        val followed = new Followed(shop, dir, isTyped = true) {
          override def options: Seq[(String, String)] = super.options :+ ("dbtable" -> "public.*")
        }
        followed.running { query =>
          if (followed.runs == 1) {
            shop.run("INSERT INTO orders VALUES (1, 'a')")
            until(query)(assert(followed.rows.size == 1))
            shop.run("CREATE TABLE items (id int PRIMARY KEY)", "INSERT INTO items VALUES (7)")
          }
          until(query)(assert(followed.runs == 2 && followed.of("public.items").map(_("id")) == Seq("7")))
        }
      }
    }
  }
}

private object FollowSuite {
  val mapper = new ObjectMapper
}
