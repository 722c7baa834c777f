package io.epochal.cdc

import scala.util.Using

import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions
import io.epochal.jdbc.{PostgresServer, TestServer}
import io.epochal.support.Collected

/** The same query on servers of several versions; [[CdcQuerySuite]] has the newest. */
@Slow
final class CdcVersionsSuite extends CdcQueries {
  import CdcVersionsSuite.Change

  private def on(kind: String, url: => Either[String, String])(body: (Shop, String) => Any): Unit =
    test(s"$kind: a snapshot, changes over a restart, values that the server leaves out, and TRUNCATE") {
      Using.resource(new Shop(url.fold(TestServer.missing("postgres"), identity)))(shop =>
        withTempDir(dir => body(shop, dir.toString): Unit))
    }

  private def delivered(name: String): Seq[Change] = Collected.of(name).map { row =>
    def text(column: String) = Option(row.getAs[String](column))
    Change(
      row.getAs[String]("_change_type"),
      Option(row.getAs[Integer]("id")).fold(-1)(_.intValue),
      text("note"),
      text("document").map(_.length),
      Option(row.getAs[Seq[String]]("_unchanged_columns")))
  }

  on("PostgreSQL 13", PostgresServer.oldest)(check("cdc_13"))
  on("PostgreSQL 15 or newer, of the system", PostgresServer.icu)(check("cdc_of_system"))

  private def check(name: String)(shop: Shop, checkpoint: String): Unit = {
    shop.run(
      "ALTER TABLE orders ADD document text, ALTER document SET STORAGE EXTERNAL",
      "INSERT INTO orders SELECT i, 'old', repeat('x', 9000) FROM generate_series(1, 300) i"
    )
    def read() = shop.read("heartbeatInterval" -> "200ms")
    stopped(start(read(), name, checkpoint)) {
      val query = spark.streams.active.head
      until(query)(assert(delivered(name).size == 300))
      assert(
        delivered(name).sortBy(_.id) ==
          (1 to 300).map(Change("insert", _, Some("old"), Some(9000))))
      shop.transaction(
        "INSERT INTO orders VALUES (301, NULL, NULL)",
        "SAVEPOINT s",
        "INSERT INTO orders VALUES (302, 'undone', NULL)",
        "ROLLBACK TO s",
        "UPDATE orders SET note = 'new' WHERE id = 1",
        "DELETE FROM orders WHERE id = 2"
      )
      until(query)(assert(delivered(name).size == 303))
      assert(
        delivered(name).drop(300) == Seq(
          Change("insert", 301),
          Change("update_postimage", 1, Some("new"), None, Some(Seq("document"))),
          Change("delete", 2)))
      query.processAllAvailable()
    }
    shop.run(
      "UPDATE orders SET id = 400 WHERE id = 301",
      "TRUNCATE orders",
      "INSERT INTO orders VALUES (500, 'b', 'c')")
    refused(Conditions.TableTruncated)(start(read(), s"${name}_truncated", checkpoint).awaitTermination(120000))
    assert(delivered(s"${name}_truncated") == Seq(Change("delete", 301), Change("insert", 400)))
    stopped(start(shop.read("onTruncate" -> "emit"), s"${name}_emitted", checkpoint)) {
      val expected = Seq(Change("truncate", -1), Change("insert", 500, Some("b"), Some(1)))
      until(spark.streams.active.head)(assert(delivered(s"${name}_emitted") == expected))
    }
  }
}

private object CdcVersionsSuite {

  /** @param id
    *   -1 for NULL
    * @param length
    *   of the document
    */
  final case class Change(
      kind: String,
      id: Int,
      note: Option[String] = None,
      length: Option[Int] = None,
      leftOut: Option[Seq[String]] = None)
}
