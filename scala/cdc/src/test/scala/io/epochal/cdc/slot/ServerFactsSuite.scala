package io.epochal.cdc.slot

import io.epochal.cdc.value.ServerSuite
import io.epochal.jdbc.PostgresServer
import io.epochal.kit.database.SqlText._

final class ServerFactsSuite extends ServerSuite("PostgreSQL", PostgresServer.url) {
  private val needs = CaptureNeeds(
    "p",
    "p",
    createsSlot = true,
    createsPublication = true,
    preimages = false,
    PublicationFacts.Operations.toSet)

  /** The tables that a publication has, and the statements that mend its missing points for a table. */
  private def published(sql: String, table: String): (Map[String, PublishedTable], Seq[String]) = {
    execute(s"CREATE PUBLICATION p $sql")
    try {
      val facts = ServerFacts.of(connection, needs, ServerFacts.tables(connection, sql"c.oid = $table::regclass"))
      val points = Preflight.check(facts, needs, ofSlot = false).filter(_.name.startsWith("publication"))
      facts.publication.get.tables -> points.filter(_.severity == Severity.Missing).flatMap(_.mend)
    } finally execute("DROP PUBLICATION p")
  }

  on("a published table without columns is no obstacle") {
    execute("CREATE TABLE empty ()", "CREATE TABLE plain (id int PRIMARY KEY, note text)")
    try {
      val (tables, missing) = published("FOR ALL TABLES", "plain")
      assert(tables("public.empty").columns.isEmpty && missing.isEmpty)
      if (version >= 15) assert(tables("public.plain").columns == Seq("id", "note"))
    } finally execute("DROP TABLE empty, plain")
  }

  on("a partitioned table in a published schema only lacks publish_via_partition_root") {
    execute(
      "CREATE SCHEMA parted",
      "CREATE TABLE parted.orders (id int PRIMARY KEY) PARTITION BY RANGE (id)",
      "CREATE TABLE parted.first PARTITION OF parted.orders FOR VALUES FROM (0) TO (9)"
    )
    val viaRoot = "ALTER PUBLICATION p SET (publish_via_partition_root = true);"
    def missing(sql: String) = published(sql, "parted.orders")._2
    assert(missing("FOR ALL TABLES") == Seq(viaRoot))
    assert(missing("FOR TABLE parted.orders") == Seq(viaRoot))
    val add =
      "BEGIN; LOCK TABLE parted.orders IN SHARE ROW EXCLUSIVE MODE; ALTER PUBLICATION p ADD TABLE parted.orders; COMMIT;"
    assert(missing("FOR TABLE parted.first") == Seq(add, viaRoot))
    if (version >= 15) {
      assert(missing("FOR TABLES IN SCHEMA parted") == Seq(viaRoot))
      assert(missing("FOR TABLES IN SCHEMA parted WITH (publish_via_partition_root = true)").isEmpty)
    }
  }
}
