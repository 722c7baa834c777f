package io.epochal.jdbc

import org.scalatest.tags.Slow

import io.epochal.core.error.{Condition, Conditions}

final class SqliteInterferenceSuite extends Interferences(Sqlite) {
  on("a full disk is named", table) { f =>
    val run = f.newRun(query, Map("sinkId" -> "sink", "connection.max_page_count" -> "30"))
    write(f, run, 0, numbers(f, 0 until 3))
    val error = refused(Conditions.DatabaseFull)(write(f, run, 1, numbers(f, 3 until 30000)))
    assert(error.values("step") == "the commit of epoch 1")
    holds(f, 0 until 3)
  }
}

final class PostgresInterferenceSuite extends CopyInterferences(Postgres)
@Slow
final class PreparedInterferenceSuite extends CopyInterferences(PostgresBy.prepared)

@Slow
final class StagedInterferenceSuite extends PostgresInterferences(PostgresBy.staged) {
  during("a dropped registry of staging tables", "DROP TABLE epochal_staging")(
    Conditions.RunFailed,
    "epochal_staging was dropped")
}

/** Rows are copied into the table itself. */
abstract class CopyInterferences(databases: TestDatabases) extends PostgresInterferences(databases) {
  during("a narrowed column", "ALTER TABLE t ALTER COLUMN id TYPE integer")(
    Conditions.ColumnTypeMismatch,
    "CAST(id AS INT)")
}

abstract class PostgresInterferences(databases: TestDatabases) extends Interferences(databases) {
  during("a revoked privilege", "REVOKE INSERT ON t FROM loader")(
    Conditions.PrivilegesMissing,
    "INSERT",
    " ON public.t TO loader")

  on("a full disk is named, after retries", table) { f =>
    f.database.execute(
      "CREATE FUNCTION full_() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'No space left on device' USING ERRCODE = '53100'; END $$",
      "CREATE TRIGGER full_ BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.id = 7) EXECUTE FUNCTION full_()")
    val run = f.newRun(query, Map("sinkId" -> "sink", "retry.maxAttempts" -> "2"))
    write(f, run, 0, numbers(f, 0 until 5))
    refused(Conditions.DatabaseFull)(write(f, run, 1, numbers(f, 5 until 10)))
    holds(f, 0 until 5)
  }
}

abstract class MysqlInterferences(databases: TestDatabases) extends Interferences(databases) {
  on("a full disk is named", table) { f =>
    f.database.execute(
      "CREATE TRIGGER full_ BEFORE INSERT ON t FOR EACH ROW IF NEW.id = 7 THEN SIGNAL SQLSTATE 'HY000' " +
        "SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table is full'; END IF")
    refused(Conditions.DatabaseFull)(write(f, f.newRun(query), 0, numbers(f, 5 until 10)))
    holds(f, 0 until 0)
  }
}

@Slow
final class MariadbInterferenceSuite extends MysqlInterferences(Mariadb)
@Slow
final class Mysql8InterferenceSuite extends MysqlInterferences(Mysql8)
@Slow
final class H2InterferenceSuite extends Interferences(InProcess.H2)

/** Changes in the database while a query runs are named. */
abstract class Interferences(databases: TestDatabases) extends SinkSuite(databases) {

  protected def during(what: String, changes: String*)(condition: Condition, says: String*): Unit =
    on(s"$what during a run is named", table) { f =>
      val run = f.newRun(query)
      write(f, run, 0, numbers(f, 0 until 3))
      f.database.execute(changes: _*)
      val error = refused(condition)(write(f, run, 1, numbers(f, 3 until 6)))
      says.foreach(text => assert(error.getMessage.contains(text)))
    }

  during("a dropped table", "DROP TABLE t")(Conditions.TableMissing)
  during("a renamed table", "ALTER TABLE t RENAME TO tt")(Conditions.TableMissing, "(there is 'tt')")
  during("a dropped column", "ALTER TABLE t DROP COLUMN word")(Conditions.ColumnMissing, "no column 'word'")
  during("a renamed column", "ALTER TABLE t RENAME COLUMN word TO words")(
    Conditions.ColumnMissing,
    "columnMap=word:words")
  during("a dropped ledger", "DROP TABLE epochal_ledger")(Conditions.LedgerNotFound, "dropped while the query ran")

  on("a dropped history during a run is named, and the next start creates it", table) { f =>
    val run = f.newRun(query)
    write(f, run, 0, numbers(f, 0 until 3))
    f.database.execute("DROP TABLE epochal_ledger_history")
    val error = refused(Conditions.RunFailed)(write(f, run, 1, numbers(f, 3 until 6)))
    assert(error.getMessage.contains("epochal_ledger_history was dropped"))
    write(f, f.newRun(query), 1, numbers(f, 3 until 6))
    holds(f, 0 until 6)
  }
}
