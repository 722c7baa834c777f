package io.epochal.jdbc

import java.nio.file.{Files, Paths}

/** Ledger tables created by hand, as the documentation allows. */
final class HandmadeLedgerSuite extends SinkSuite(Sqlite) {

  on("the columns of the retired rows may be in another order than the ledger's", table) { f =>
    f.database.execute(
      """CREATE TABLE epochal_ledger_retired (sink_id TEXT NOT NULL, v INTEGER NOT NULL,
        |query_id TEXT NOT NULL, target TEXT NOT NULL, target_oid INTEGER, generation INTEGER NOT NULL,
        |trigger_mode TEXT, offsets_hash TEXT, digest TEXT, "rows" INTEGER, epochs INTEGER NOT NULL,
        |total_rows INTEGER NOT NULL, last_epoch INTEGER, run_id TEXT NOT NULL, server_id TEXT NOT NULL,
        |timeline INTEGER, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, PRIMARY KEY (sink_id, query_id))""".stripMargin)
    def append(over: String) = Map("sinkId" -> "sink", "onNewQuery" -> s"append:$over")
    val first = f.newRun(query)
    (0 until 3).foreach(n => write(f, first, n.toLong, numbers(f, 10 * n until 10 * (n + 1))))
    write(f, f.newRun(query), 3, numbers(f, 30 until 40))
    write(f, f.newRun(otherQuery, append(query)), 0, numbers(f, 40 until 50), offsets = "of the other")
    write(f, f.newRun(query, append(otherQuery)), 3, numbers(f, 30 until 40))
    holds(f, 0 until 50)
  }
}

/** Ledger tables created by hand, for a user who may only write rows. */
final class PostgresHandmadeLedgerSuite
    extends SinkSuite(new PostgresDatabases("PostgreSQL", PostgresServer.url, rights = Nil)) {

  on("the tables and rights in docs/PROTOCOL.md are sufficient, inline", table) { f =>
    val document = Paths.get(System.getProperty("epochal.root", "."), "docs", "PROTOCOL.md")
    val statements = Files.readString(document).split("```sql\n")(1).takeWhile(_ != '`')
    f.database.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC", statements.replace("public.comments", "t"))
    val run = f.newRun(query, Map("sinkId" -> "sink", "transport" -> "inline"))
    write(f, run, 0, numbers(f, 0 until 10))
    write(f, run, 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
  }
}
