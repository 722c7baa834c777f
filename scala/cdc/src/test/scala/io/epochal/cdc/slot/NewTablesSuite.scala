package io.epochal.cdc.slot

import io.epochal.cdc.value.ServerSuite
import io.epochal.jdbc.PostgresServer

/** Tables that are created later are delivered whole, or not at all. */
final class NewTablesSuite extends ServerSuite("PostgreSQL", PostgresServer.url) {

  private lazy val since: Long = {
    execute("CREATE TABLE old (id int PRIMARY KEY)", "CREATE PUBLICATION everything FOR ALL TABLES")
    NewTables.since(connection, ServerFacts.server(connection), "everything", Seq("public")).get
  }

  /** Whether a table, made by statements, has all its rows in the log. */
  private def isWhole(sql: String*): Boolean = {
    since
    execute(sql: _*)
    val oid = query("SELECT 'made'::regclass::oid::bigint").head.head.asInstanceOf[Long]
    try NewTables.isWhole(connection, oid, since)
    finally execute("DROP TABLE made")
  }

  on("a table that was created since is whole, with its key, its rows, and later columns") {
    assert(isWhole("CREATE TABLE made (id int)", "INSERT INTO made VALUES (1)"))
    assert(
      isWhole(
        "CREATE TABLE made AS SELECT 1 AS id",
        "ALTER TABLE made ADD PRIMARY KEY (id)",
        "ALTER TABLE made ADD note text",
        "GRANT SELECT ON made TO PUBLIC",
        "ANALYZE made"))
    assert(
      isWhole(
        "CREATE TABLE made (id int) PARTITION BY LIST (id)",
        "CREATE TABLE made_1 PARTITION OF made FOR VALUES IN (1)",
        "INSERT INTO made VALUES (1)"))
  }

  on("a table may have rows from before, or that were never logged") {
    assert(!isWhole("ALTER TABLE old RENAME TO made"))
    val begun = "CREATE TABLE made (id int)"
    assert(
      !isWhole("CREATE SCHEMA other", "CREATE TABLE other.made (id int)", "ALTER TABLE other.made SET SCHEMA public"))
    assert(!isWhole("CREATE UNLOGGED TABLE made (id int)"))
    assert(
      !isWhole("CREATE UNLOGGED TABLE made (id int)", "INSERT INTO made VALUES (1)", "ALTER TABLE made SET LOGGED"))
    assert(!isWhole(begun, "TRUNCATE made"))
    assert(
      !isWhole(
        "CREATE TABLE before (id int)",
        "INSERT INTO before VALUES (1)",
        "ALTER TABLE before RENAME TO made_1",
        "CREATE TABLE made (id int) PARTITION BY LIST (id)",
        "ALTER TABLE made ATTACH PARTITION made_1 FOR VALUES IN (1)"
      ))
  }

  on("a table that was dropped leaves no rows behind") {
    assert(NewTables.isWhole(connection, 4000000000L, since))
  }

  on("a publication of single tables has no new ones") {
    since
    execute("CREATE TABLE single (id int)", "CREATE PUBLICATION single FOR TABLE single")
    val server = ServerFacts.server(connection)
    assert(NewTables.since(connection, server, "single", Seq("public")).isEmpty)
    if (server.major >= 15) {
      execute("CREATE PUBLICATION whole FOR TABLES IN SCHEMA public")
      assert(NewTables.since(connection, server, "whole", Seq("public")).nonEmpty)
      assert(NewTables.since(connection, server, "whole", Seq("public", "pg_catalog")).isEmpty)
    }
  }
}
