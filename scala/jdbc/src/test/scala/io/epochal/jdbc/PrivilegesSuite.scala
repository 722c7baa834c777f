package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String.fromString
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions

/** A start refuses a login that lacks privileges, once: its GRANTs are sufficient. */
final class PostgresPrivilegesSuite
    extends SinkSuite(new PostgresDatabases("PostgreSQL", PostgresServer.url, rights = Seq("the place"))) {

  private val schema = new StructType().add("op", StringType).add("id", LongType).add("word", StringType)
  private val target = "CREATE TABLE warehouse.comments (id BIGINT PRIMARY KEY, word TEXT, number SERIAL)"
  private val closed = "REVOKE TEMPORARY ON DATABASE %s FROM PUBLIC"
  private val sink = Map("sinkId" -> "sink", "dbtable" -> "warehouse.comments", "checkpointLocation" -> "unused")
  private val keyed = sink + ("keyColumns" -> "id")
  private val changes = keyed + ("opColumn" -> "op")
  private val ledger = LoaderRights.ledger("warehouse")

  private def granted(claim: String, options: Map[String, String], made: String*)(grants: String*): Unit =
    onSchema(
      s"one refusal lists what is missing to $claim",
      if (options.contains("opColumn")) schema else JdbcSinkFixture.Schema,
      made: _*) { f =>
      f.database.execute(closed.format(f.database.one("SELECT current_database()")))
      val error = refused(Conditions.PrivilegesMissing)(f.newRun(query, options))
      val statements = error.values("grants").split("; ").toSeq
      grants.foreach(grant => assert(statements.exists(_.startsWith(grant)), statements.mkString("; ")))
      f.database.execute(statements: _*)
      val rows =
        if (options.contains("opColumn"))
          Seq("i" -> 1L, "d" -> 2L).map { case (op, id) => InternalRow(fromString(op), id, fromString("w")) }
        else numbers(f, 1 until 2)
      write(f, f.newRun(query, options), 0, rows)
      assert(f.database.query("SELECT id FROM warehouse.comments") == Seq(Seq(1L)))
    }

  granted("append inline, with a ledger made beforehand", sink + ("transport" -> "inline"), ledger :+ target: _*)(
    "GRANT INSERT ON warehouse.comments TO loader",
    "GRANT USAGE ON SEQUENCE warehouse.comments_number_seq TO loader",
    "GRANT SELECT, INSERT, UPDATE ON warehouse.epochal_ledger TO loader",
    "GRANT SELECT, INSERT, DELETE ON warehouse.epochal_ledger_history TO loader"
  )
  granted(
    "use a ledger made beforehand",
    sink + ("transport" -> "inline"),
    ledger ++ Seq(target, "GRANT INSERT ON warehouse.comments TO loader") :+
      "GRANT USAGE ON SEQUENCE warehouse.comments_number_seq TO loader": _*)(
    "GRANT SELECT, INSERT, UPDATE ON warehouse.epochal_ledger TO loader",
    "GRANT SELECT, INSERT, DELETE ON warehouse.epochal_ledger_history TO loader")
  granted("append", sink, target)("GRANT CREATE ON SCHEMA warehouse TO loader", "GRANT INSERT ON warehouse.comments")
  granted("append staged", sink + ("transport" -> "staged"), target)("GRANT INSERT ON warehouse.comments")
  granted("append prepared", sink + ("transport" -> "prepared"), target)("GRANT INSERT ON warehouse.comments")
  granted("upsert", keyed, target)("GRANT SELECT, INSERT, UPDATE ON warehouse.comments", "GRANT TEMPORARY ON DATABASE")
  granted("upsert staged", keyed + ("transport" -> "staged"), target)("GRANT SELECT, INSERT, UPDATE ON")
  granted("apply changes", changes, target)("GRANT SELECT, INSERT, UPDATE, DELETE ON warehouse.comments")
  granted("make the table", sink + ("createTable" -> "true"))("GRANT CREATE ON SCHEMA warehouse")
  granted(
    "set bad rows aside in another schema",
    sink + ("deadLetterTable" -> "aside.bad"),
    target,
    "CREATE SCHEMA aside")(
    "GRANT USAGE ON SCHEMA aside",
    "GRANT CREATE ON SCHEMA aside",
    "GRANT INSERT ON warehouse.comments")
  granted("add columns", sink + ("addColumns" -> "true"), "CREATE TABLE warehouse.comments (id BIGINT)")(
    "ALTER TABLE warehouse.comments OWNER TO loader")

  on("a ledger of another role is refused before the privileges that are missing on it", target +: ledger: _*) { f =>
    f.database.execute(
      "DO $$ BEGIN CREATE ROLE ledger_owner; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$")
    f.database.execute(Seq("", "_retired", "_history").map(name =>
      s"ALTER TABLE warehouse.epochal_ledger$name OWNER TO ledger_owner"): _*)
    val error = refused(Conditions.ObjectUntrusted)(f.newRun(query, sink))
    assert(error.getMessage.contains("set trustedOwners=ledger_owner"))
    val trusting = sink + ("trustedOwners" -> "ledger_owner")
    val grants = refused(Conditions.PrivilegesMissing)(f.newRun(query, trusting)).values("grants")
    f.database.execute(grants.split("; ").toSeq: _*)
    write(f, f.newRun(query, trusting), 0, numbers(f, 1 until 2))
  }

  on("where the start did not know that it is a query, its claim lists the same", target) { f =>
    f.database.execute(
      "GRANT INSERT ON warehouse.comments TO loader",
      "GRANT USAGE ON SEQUENCE warehouse.comments_number_seq TO loader")
    f.database.execute(ledger: _*)
    val options = sink - "checkpointLocation" + ("transport" -> "inline")
    val run = f.newRun(query, options)
    val error = refused(Conditions.PrivilegesMissing)(write(f, run, 0, numbers(f, 0 until 1)))
    assert(error.values("grants").contains("epochal_ledger_history"))
    f.database.execute(error.values("grants").split("; ").toSeq: _*)
    write(f, f.newRun(query, options), 0, numbers(f, 1 until 2))
  }

  on("a batch needs no privileges on a ledger", target +: ledger: _*) { f =>
    f.database.execute(
      "GRANT INSERT ON warehouse.comments TO loader",
      "GRANT USAGE ON SEQUENCE warehouse.comments_number_seq TO loader")
    f.newRun(query, sink - "checkpointLocation" + ("transport" -> "inline"))
  }

  on(
    "of columns that are neither keys nor updated, a query reads none; a table beside may grant single columns",
    "CREATE TABLE warehouse.comments (id BIGINT PRIMARY KEY, word TEXT, own TEXT)",
    "CREATE TABLE warehouse.bad (sink_id text, epoch bigint, partition_id bigint, row_number bigint, column_name text, " +
      "reason text, row_json text, recorded_at timestamptz, own text)"
  ) { f =>
    f.database.execute(LoaderRights.of("staging"): _*)
    f.database.execute(
      "GRANT SELECT (id, word), INSERT, UPDATE (word) ON warehouse.comments TO loader",
      "GRANT INSERT (sink_id, epoch, partition_id, row_number, column_name, reason, row_json, recorded_at) ON warehouse.bad TO loader"
    )
    val wide = new JdbcSinkFixture(f.database, JdbcSinkFixture.Schema.add("own", StringType))
    val options = keyed ++ Map("updateColumns" -> "word", "deadLetterTable" -> "warehouse.bad")
    val row = InternalRow(1L, fromString("w"), fromString("o"))
    write(wide, wide.newRun(query, options), 0, Seq(row))
    assert(f.database.query("SELECT id FROM warehouse.comments") == Seq(Seq(1L)))
  }

  on(
    "privileges on single columns are sufficient",
    "CREATE TABLE warehouse.comments (id BIGINT, word TEXT, more TEXT)") { f =>
    f.database.execute(LoaderRights.of("staging"): _*)
    f.database.execute("GRANT INSERT (id, word) ON warehouse.comments TO loader")
    write(f, f.newRun(query, sink), 0, numbers(f, 1 until 2))
  }
}

@Slow
final class MariadbPrivilegesSuite extends MysqlPrivileges(Mariadb)
@Slow
final class Mysql8PrivilegesSuite extends MysqlPrivileges(Mysql8)

abstract class MysqlPrivileges(databases: TestDatabases) extends SinkSuite(databases) {

  on("one refusal lists what is missing, and that is sufficient", "CREATE TABLE t (id BIGINT PRIMARY KEY, word TEXT)") {
    f =>
      val database = f.database.one("SELECT DATABASE()")
      f.database.execute("DROP USER IF EXISTS poor", "CREATE USER poor", s"GRANT SELECT ON $database.* TO poor")
      val options = Map(
        "sinkId" -> "sink",
        "keyColumns" -> "id",
        "checkpointLocation" -> "unused",
        "url" -> f.database.url.replace("user=root", "user=poor"))
      val error = refused(Conditions.PrivilegesMissing)(f.newRun(query, options))
      val grants = error.values("grants").split("; ").toSeq
      assert(grants.head == s"GRANT SELECT, INSERT, UPDATE ON `$database`.`t` TO 'poor'@'%'")
      assert(grants(1).contains("CREATE TEMPORARY TABLES") && grants(1).endsWith(s"ON `$database`.* TO 'poor'@'%'"))
      f.database.execute(grants: _*)
      write(f, f.newRun(query, options), 0, numbers(f, 0 until 3))
      holds(f, 0 until 3)
  }

  private def login(f: JdbcSinkFixture, name: String, grants: String*): Map[String, String] = {
    f.database.execute(Seq(s"DROP USER IF EXISTS $name", s"CREATE USER $name") ++ grants.map(_ + s" TO $name"): _*)
    Map(
      "sinkId" -> "sink",
      "checkpointLocation" -> "unused",
      "url" -> f.database.url.replace("user=root", s"user=$name"))
  }

  on("the start refuses a login that may write the table, but create no ledger", table) { f =>
    val database = f.database.one("SELECT DATABASE()")
    val options = login(f, "narrow", s"GRANT SELECT, INSERT, UPDATE, DELETE ON $database.*")
    f.newRun(query, options - "checkpointLocation")
    val error = refused(Conditions.PrivilegesMissing)(f.newRun(query, options))
    assert(error.values("grants") == s"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON `$database`.* TO 'narrow'@'%'")
    f.database.execute(error.values("grants"))
    write(f, f.newRun(query, options), 0, numbers(f, 0 until 3))
    holds(f, 0 until 3)
  }

  on("the start refuses a login that may store rows, but not delete them", "CREATE TABLE t (id BIGINT PRIMARY KEY)") {
    f =>
      val database = f.database.one("SELECT DATABASE()")
      val columns = new StructType().add("op", StringType).add("id", LongType).add("word", StringType)
      val wide = new JdbcSinkFixture(f.database, columns)
      val more = Map("keyColumns" -> "id", "opColumn" -> "op", "addColumns" -> "true", "deadLetterTable" -> "bad")
      write(f, f.newRun(query, Map("sinkId" -> "sink", "addColumns" -> "true")), 0, Nil)
      f.database.execute("ALTER TABLE t DROP COLUMN word")
      val options = login(
        f,
        "keeper",
        s"GRANT SELECT, INSERT, UPDATE, CREATE, CREATE TEMPORARY TABLES ON $database.*",
        s"GRANT DELETE ON $database.epochal_ledger_retired",
        s"GRANT DELETE ON $database.epochal_ledger_history"
      ) ++ more
      val error = refused(Conditions.PrivilegesMissing)(wide.newRun(query, options))
      assert(
        error.values("grants") == s"GRANT SELECT, INSERT, UPDATE, DELETE, ALTER ON `$database`.`t` TO 'keeper'@'%'")
      f.database.execute(error.values("grants"))
      val run = wide.newRun(query, options)
      def row(op: String, id: Long, word: String) = InternalRow(fromString(op), id, fromString(word))
      write(wide, run, 1, Seq(row("i", 1, "one"), row("i", 2, "two"), row("i", 3, "\u0000")))
      write(wide, run, 2, Seq(row("d", 1, null)))
      assert(f.database.query("SELECT id, word FROM t").map(_.mkString(" ")) == Seq("2 two"))
      assert(f.database.one("SELECT count(*) FROM bad") == 1L)
  }

  on("the start refuses a login that may not write the ledger", table) { f =>
    val database = f.database.one("SELECT DATABASE()")
    write(f, f.newRun(query), 0, numbers(f, 0 until 3))
    val options =
      login(f, "reader", s"GRANT SELECT ON $database.*", s"GRANT INSERT ON $database.t", s"GRANT CREATE ON $database.*")
    val error = refused(Conditions.PrivilegesMissing)(f.newRun(query, options))
    assert(error.values("grants").contains(s"GRANT SELECT, INSERT, UPDATE ON `$database`.`epochal_ledger` TO"))
    f.database.execute(error.values("grants").split("; ").toSeq: _*)
    write(f, f.newRun(query, options), 1, numbers(f, 3 until 6))
    holds(f, 0 until 6)
  }

  on("a table that a revoked privilege hides is not taken for a dropped one", table) { f =>
    val database = f.database.one("SELECT DATABASE()")
    write(f, f.newRun(query), 0, numbers(f, 0 until 3))
    f.database.execute("DROP USER IF EXISTS held", "CREATE USER held")
    // Without it MySQL 8.0.12 ignores grants on a table when a SELECT … FOR UPDATE reads its columns.
    f.database.execute(s"GRANT LOCK TABLES ON $database.* TO held")
    ("t" +: f.database.query("SHOW TABLES LIKE 'epochal%'").map(_.head)).foreach(name =>
      f.database.execute(s"GRANT SELECT, INSERT, UPDATE, DELETE ON $database.$name TO held"))
    val options = Map("sinkId" -> "sink", "url" -> f.database.url.replace("user=root", "user=held"))
    val run = f.newRun(query, options)
    write(f, run, 1, numbers(f, 3 until 6))
    f.database.execute(s"REVOKE ALL PRIVILEGES ON $database.t FROM held")
    val error = refused(Conditions.PrivilegesMissing)(write(f, run, 2, numbers(f, 6 until 9)))
    assert(error.values("grants") == s"GRANT INSERT ON `$database`.`t` TO 'held'@'%'")
  }

  on("privileges by the rule of another account are sufficient", "CREATE TABLE t (id BIGINT PRIMARY KEY, word TEXT)") {
    f =>
      val database = f.database.one("SELECT DATABASE()")
      val accounts = Seq("'two'@'localhost'", "'two'@'127.0.0.1'", "'two'@'%'")
      f.database.execute(accounts.flatMap(account => Seq(s"DROP USER IF EXISTS $account", s"CREATE USER $account")): _*)
      f.database.execute(s"GRANT ALL ON $database.* TO 'two'@'%'")
      val options =
        Map(
          "sinkId" -> "sink",
          "keyColumns" -> "id",
          "checkpointLocation" -> "unused",
          "url" -> f.database.url.replace("user=root", "user=two"))
      write(f, f.newRun(query, options), 0, numbers(f, 0 until 3))
      holds(f, 0 until 3)
  }
}
