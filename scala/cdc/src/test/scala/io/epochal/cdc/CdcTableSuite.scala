package io.epochal.cdc

import java.io.File
import java.nio.file.Files
import java.sql.DriverManager

import scala.util.Using

import org.apache.spark.sql.streaming.StreamingQuery
import org.scalatest.time.{Minutes, Span}

import io.epochal.core.error.{Conditions, EpochalException}

/** Which table a query captures, and which table it is later. */
final class CdcTableSuite extends CdcQueries {

  /** The error of a query that delivered all changes before it. */
  private def ended(query: StreamingQuery): EpochalException =
    refused(Conditions.TablesChanged)(query.awaitTermination(60000))

  private def withShop(body: (Shop, String) => Any): Unit =
    Using.resource(new Shop)(shop => withTempDir(dir => body(shop, dir.toString)): Unit)

  /** A role that owns the table, with a schema of its own first on its search path. */
  private def withRole(shop: Shop)(body: String => Any): Unit = {
    shop.run(
      s"CREATE ROLE ${shop.name} LOGIN SUPERUSER REPLICATION",
      s"CREATE SCHEMA ${shop.name}",
      "CREATE SCHEMA \"Sales\"",
      "CREATE TABLE \"Sales\".orders (id int PRIMARY KEY, note text)",
      "INSERT INTO \"Sales\".orders VALUES (1, 'sales')",
      "INSERT INTO orders VALUES (1, 'public')"
    )
    try { body(shop.url.replaceAll("user=[^&]*", s"user=${shop.name}")); () }
    finally shop.run(s"DROP OWNED BY ${shop.name} CASCADE", s"DROP ROLE ${shop.name}")
  }

  test("a table without a schema is the first one on the role's search path, as the server finds it") {
    withShop { (shop, dir) =>
      withRole(shop) { url =>
        Seq(
          "\"$user\", public" -> "public",
          "\"Sales\", public" -> "sales",
          "public, \"Sales\"" -> "public",
          "pg_catalog" -> "public").zipWithIndex.foreach { case ((path, note), i) =>
          shop.run(s"ALTER ROLE ${shop.name} SET search_path TO $path")
          val (name, slot) = (s"cdc_path_$i", s"${shop.name}_$i")
          val rows = shop.read("url" -> url, "dbtable" -> "ORDERS", "slot" -> slot)
          stopped(start(rows, name, s"$dir/$i"))(until(spark.streams.active.head)(assert(changes(name).nonEmpty)))
          assert(changes(name) == Seq(("insert", 1, note)), path)
          shop.run(s"SELECT pg_drop_replication_slot('$slot')")
        }
      }
    }
  }

  test(
    "a checkpoint continues with its table, also one of an older release, and refuses another one on the search path") {
    withShop { (shop, dir) =>
      withRole(shop) { url =>
        def read() = shop.read("url" -> url)
        stopped(start(read(), "cdc_path", dir))(until(spark.streams.active.head)(assert(changes("cdc_path").size == 1)))
        // An older release did not keep the name of the table.
        val logs = new File(dir, "offsets").listFiles.filter(_.getName.matches("\\d+")).toSeq
        (new File(dir, "sources/0/initial-offset") +: logs).map(_.toPath).foreach { log =>
          val text = Files.readString(log)
          assert(text.contains(""","table":{"name":"public.orders","oid":"""))
          Files.writeString(log, text.replaceAll(""","table":\{[^}]*\}""", "")): Unit
          Files.deleteIfExists(log.resolveSibling(s".${log.getFileName}.crc")): Unit
        }
        shop.run("INSERT INTO orders VALUES (2, 'later')")
        stopped(start(read(), "cdc_path_again", dir)) {
          until(spark.streams.active.head)(assert(changes("cdc_path_again").lastOption == Some(("insert", 2, "later"))))
        }
        shop.run(
          s"ALTER ROLE ${shop.name} SET search_path TO \"Sales\"",
          s"ALTER PUBLICATION ${shop.name} ADD TABLE \"Sales\".orders")
        val error = ended(start(read(), "cdc_path_other", dir))
        assert(error.getMessage.contains("Sales.orders instead of public.orders"))
        assert(error.getMessage.contains("dbtable=public.orders"))
      }
    }
  }

  for {
    (change, sql, message) <- Seq(
      ("renamed", Seq("ALTER TABLE orders RENAME TO old"), "public.orders is now public.old"),
      (
        "created again",
        Seq("DROP TABLE orders", "CREATE TABLE orders (id int PRIMARY KEY, note text)"),
        "public.orders was created again"),
      ("dropped", Seq("DROP TABLE orders"), "public.orders was dropped"))
    isWhole <- Seq(true, false)
    if !isWhole || change != "dropped"
  } test(
    s"a table that is $change under a query ends it after the changes before${if (isWhole) ", in a publication of all tables"
      else ""}") {
    withShop { (shop, dir) =>
      if (isWhole) shop.run(s"CREATE PUBLICATION ${shop.name} FOR ALL TABLES")
      val name = s"cdc_${change.replace(' ', '_')}_$isWhole"
      shop.run("INSERT INTO orders VALUES (0, 'old')")
      val query = start(shop.read("heartbeatInterval" -> (if (isWhole) "10m" else "200ms")), name, dir)
      until(query)(assert(changes(name).size == 1))
      shop.run("INSERT INTO orders VALUES (1, 'before')")
      until(query)(assert(changes(name).size == 2))
      // At once: else a heartbeat may find that there is no table of this name.
      shop.transaction(sql: _*)
      if (change != "dropped")
        shop.run(s"INSERT INTO ${if (change == "renamed") "old" else "orders"} VALUES (2, 'after')")
      assert(ended(query).getMessage.contains(message))
      assert(changes(name).size == 2)
    }
  }

  test("a table that was renamed before the snapshot is no other one") {
    withShop { (shop, dir) =>
      shop.run(
        "ALTER TABLE orders RENAME TO other",
        s"CREATE PUBLICATION ${shop.name} FOR TABLE other",
        s"SELECT pg_create_logical_replication_slot('${shop.name}', 'pgoutput')",
        "INSERT INTO other VALUES (1, 'old')",
        "ALTER TABLE other RENAME TO orders"
      )
      stopped(start(shop.read(), "cdc_renamed_before", dir)) {
        val query = spark.streams.active.head
        until(query)(assert(changes("cdc_renamed_before").size == 1))
        shop.run("INSERT INTO orders VALUES (2, 'new')")
        until(query)(assert(changes("cdc_renamed_before") == Seq(("insert", 1, "old"), ("insert", 2, "new"))))
      }
    }
  }

  test("a load of one table, and one of twenty, needs at most 14 statements, those of the driver included") {
    withShop { (shop, _) =>
      val more = (1 to 20).map(i => s"more_$i")
      shop.run(more.map(name => s"CREATE TABLE $name (id int PRIMARY KEY)"): _*)
      def statements(tables: Seq[String]): Long = {
        def number(sql: String) = Using.resource(DriverManager.getConnection(server)) { connection =>
          val rows = connection.createStatement().executeQuery(s"$sql WHERE datname = '${shop.name}'")
          rows.next()
          rows.getLong(1)
        }
        // The server counts the statements of a session before it forgets the session.
        def settled() = {
          eventually(timeout(Span(1, Minutes)))(assert(number("SELECT count(*) FROM pg_stat_activity") == 0))
          number("SELECT xact_commit FROM pg_stat_database")
        }
        // Autovacuum may add some.
        (1 to 5).map { _ =>
          val before = settled()
          shop.read("dbtable" -> tables.mkString(","))
          settled() - before
        }.min
      }
      val counts = Seq(Seq("orders"), more).map(statements)
      assert(counts.forall(_ <= 14), counts)
    }
  }
}
