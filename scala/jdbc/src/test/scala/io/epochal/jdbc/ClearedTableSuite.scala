package io.epochal.jdbc

import org.apache.spark.sql.streaming.OutputMode
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions

final class SqliteClearedTableSuite extends ClearedTables(Sqlite) {
  keptBy(
    "a RAISE(IGNORE) trigger",
    "CREATE TRIGGER keep BEFORE DELETE ON t WHEN OLD.id = 3 BEGIN SELECT RAISE(IGNORE); END")("DROP TRIGGER keep")
}

final class PostgresClearedTableSuite extends PostgresClearedTables(Postgres)
@Slow
final class StagedClearedTableSuite extends PostgresClearedTables(PostgresBy.staged)
@Slow
final class MariadbClearedTableSuite extends ClearedTables(Mariadb)
@Slow
final class Mysql8ClearedTableSuite extends ClearedTables(Mysql8)
@Slow
final class H2ClearedTableSuite extends ClearedTables(InProcess.H2)

abstract class PostgresClearedTables(databases: TestDatabases) extends ClearedTables(databases) {

  keptBy(
    "a RETURN NULL trigger",
    "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    "CREATE TRIGGER keep BEFORE DELETE ON t FOR EACH ROW WHEN (OLD.id = 3) EXECUTE FUNCTION keep()")(
    "DROP TRIGGER keep ON t")

  keptBy("a DO INSTEAD NOTHING rule", "CREATE RULE keep AS ON DELETE TO t DO INSTEAD NOTHING")("DROP RULE keep ON t")

  keptBy(
    "a rule that marks rows as deleted",
    "ALTER TABLE t ADD gone BOOLEAN",
    "CREATE RULE keep AS ON DELETE TO t DO INSTEAD UPDATE t SET gone = true WHERE id = OLD.id")("DROP RULE keep ON t")
}

/** Output mode complete and a batch in overwrite mode write the table's whole contents. */
abstract class ClearedTables(databases: TestDatabases) extends SinkSuite(databases) {

  /** @param means
    *   what prevents rows, or one of them, from being deleted
    */
  protected def keptBy(what: String, means: String*)(remedy: String): Unit = {
    on(s"complete mode writes nothing if $what keeps rows", table) { f =>
      val run = f.newRun(query, Map("sinkId" -> "sink"), OutputMode.Complete)
      write(f, run, 0, numbers(f, 0 until 10))
      f.database.execute(means: _*)
      val error = refused(Conditions.RowsDropped)(write(f, run, 1, numbers(f, 10 until 20)))
      assert(error.values("epoch") == "1" && error.values("table").toString.endsWith("t"))
      holds(f, 0 until 10)
      assert(ledger(f, "last_epoch") == 0L)
      f.database.execute(remedy)
      write(f, run, 1, numbers(f, 10 until 20))
      holds(f, 10 until 20)
    }

    on(s"complete mode without rows fails if $what keeps rows", table) { f =>
      val run = f.newRun(query, Map("sinkId" -> "sink"), OutputMode.Complete)
      write(f, run, 0, numbers(f, 0 until 10))
      f.database.execute(means: _*)
      refused(Conditions.RowsDropped)(write(f, run, 1, Nil))
      holds(f, 0 until 10)
    }

    on(s"a batch in overwrite mode writes nothing if $what keeps rows", table) { f =>
      overwrite(f, 0 until 10)
      f.database.execute(means: _*)
      refused(Conditions.RowsDropped)(overwrite(f, 10 until 20))
      holds(f, 0 until 10)
    }
  }

  on("a batch in overwrite mode replaces the table", table) { f =>
    overwrite(f, 0 until 10)
    overwrite(f, 5 until 20)
    holds(f, 5 until 20)
  }

  private def overwrite(f: JdbcSinkFixture, rows: Range): Unit = {
    val write = f.newRun(query, Map.empty[String, String]).newBatchWrite(truncate = true)
    val writer = write.createBatchWriterFactory(() => 1).createWriter(0, 0L)
    numbers(f, rows).foreach(writer.write)
    val message = writer.commit()
    writer.close()
    write.commit(Array(message))
  }
}
