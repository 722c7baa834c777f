package io.epochal.cdc

import scala.util.Using

import io.epochal.core.error.Conditions
import io.epochal.jdbc.{PostgresServer, TestServer}
import io.epochal.support.Collected

/** Columns that the log does not have: generated ones, and those that a publication's list lacks. */
final class GeneratedColumnsSuite extends CdcQueries {

  private def withShop(url: => Either[String, String])(body: (Shop, String) => Any): Unit =
    Using.resource(new Shop(url.fold(TestServer.missing("postgres"), identity)))(shop =>
      withTempDir(dir => body(shop, dir.toString)): Unit)

  private val generated = Seq(
    "CREATE TABLE sums (a int, total int GENERATED ALWAYS AS (a * 2) STORED, id int PRIMARY KEY)",
    "INSERT INTO sums VALUES (1, DEFAULT, 1)")

  /** Runs a query over a snapshot and a change, and returns its columns and rows without those of a change. */
  private def captured(shop: Shop, dir: String, name: String, options: (String, String)*) = {
    val rows = shop.read(options :+ ("dbtable" -> "sums"): _*)
    val columns = rows.schema.filterNot(CdcProvider.isOwn).map(_.name)
    val isLatest = options.contains("startingOffset" -> "latest")
    stopped(start(rows, name, dir)) {
      val query = spark.streams.active.head
      until(query)(assert(if (isLatest) query.lastProgress != null else Collected.of(name).nonEmpty))
      shop.run("INSERT INTO sums VALUES (5, DEFAULT, 2)")
      until(query)(assert(Collected.of(name).size == (if (isLatest) 1 else 2)))
    }
    (columns, Collected.of(name).map(row => columns.indices.map(row.get)))
  }

  for {
    (version, url) <- Seq(
      "newest" -> (() => PostgresServer.url),
      "13" -> (() => PostgresServer.oldest),
      "of the system" -> (() => PostgresServer.icu))
    starting <- Seq("initial", "latest")
  } test(s"PostgreSQL $version: generated columns are left out, from $starting on") {
    withShop(url()) { (shop, dir) =>
      shop.run(generated: _*)
      val (columns, rows) = captured(shop, dir, s"cdc_generated_${version}_$starting", "startingOffset" -> starting)
      assert(columns == Seq("a", "id"))
      assert(rows == Seq(Seq(1, 1), Seq(5, 2)).drop(if (starting == "latest") 1 else 0))
    }
  }

  test("the generated columns that PostgreSQL 18 publishes are captured") {
    withShop(PostgresServer.url) { (shop, dir) =>
      assume(shop.text("SHOW server_version_num").toInt >= 180000, "publish_generated_columns")
      shop.run(generated :+ "ALTER TABLE sums ADD half int GENERATED ALWAYS AS (a / 2) VIRTUAL": _*)
      Seq(
        s"CREATE PUBLICATION ${shop.name} FOR TABLE sums WITH (publish_generated_columns = stored)",
        s"CREATE PUBLICATION ${shop.name} FOR TABLE sums (a, total, id)").zipWithIndex.foreach { case (sql, i) =>
        shop.run(sql)
        val name = s"cdc_published_$i"
        val slot = s"${shop.name}_$i"
        val options = Seq("slot" -> slot, "publication" -> shop.name, "startingOffset" -> "initial")
        val (columns, rows) = captured(shop, s"$dir/$i", name, options: _*)
        assert(columns == Seq("a", "total", "id"))
        assert(rows == Seq(Seq(1, 2, 1), Seq(5, 10, 2)))
        shop.run(
          s"SELECT pg_drop_replication_slot('$slot')",
          s"DROP PUBLICATION ${shop.name}",
          "DELETE FROM sums WHERE id = 2")
      }
    }
  }

  test("generic rows have no generated columns, in the snapshot and in changes") {
    withShop(PostgresServer.url) { (shop, dir) =>
      shop.run(generated: _*)
      val name = "cdc_generated_several"
      stopped(start(shop.read("dbtable" -> "sums,orders"), name, dir)) {
        val query = spark.streams.active.head
        until(query)(assert(Collected.of(name).nonEmpty))
        shop.run("INSERT INTO sums VALUES (5, DEFAULT, 2)")
        until(query)(assert(Collected.of(name).size == 2))
      }
      assert(Collected.of(name).map(_.getAs[String]("after")) == Seq("""{"a":1,"id":1}""", """{"a":5,"id":2}"""))
    }
  }

  test("columns that a publication's list lacks are left out, and a schema that names them is refused") {
    withShop(PostgresServer.icu) { (shop, dir) =>
      shop.run(
        "CREATE TABLE sums (a int, b int, id int PRIMARY KEY)",
        "INSERT INTO sums VALUES (1, 1, 1)",
        s"CREATE PUBLICATION ${shop.name} FOR TABLE sums (id, a)")
      val read = spark.readStream
        .format("epochal-cdc")
        .schema("id INT, b INT")
        .options(Map("url" -> shop.url, "dbtable" -> "sums", "slot" -> shop.name))
      assert(refused(Conditions.ColumnMissing)(read.load()).getMessage.contains("column b"))
      stopped(start(shop.read("dbtable" -> "sums"), "cdc_listed", dir)) {
        val query = spark.streams.active.head
        until(query)(assert(Collected.of("cdc_listed").nonEmpty))
        shop.run("INSERT INTO sums VALUES (5, 5, 2)")
        until(query)(assert(Collected.of("cdc_listed").size == 2))
      }
      assert(Collected.of("cdc_listed").map(row => (row.get(0), row.get(1))) == Seq((1, 1), (5, 2)))
      assert(Collected.of("cdc_listed").head.schema.fieldNames.take(2).toSeq == Seq("a", "id"))
    }
  }
}
