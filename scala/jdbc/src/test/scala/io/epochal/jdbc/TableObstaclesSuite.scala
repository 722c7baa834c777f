package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.tags.Slow

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.TriggerMode

final class PostgresTableObstaclesSuite extends SinkSuite(Postgres) {

  private val keyed = "CREATE TABLE t (id BIGINT PRIMARY KEY, word TEXT)"
  private val sink = Map("sinkId" -> "sink")
  private val upsert = sink ++ Map("mode" -> "upsert", "keyColumns" -> "id")
  private val transports = Seq("auto", "inline", "staged", "prepared").map(name => sink + ("transport" -> name))

  /** The statement of the refusal. */
  private def remedy(error: EpochalException): String =
    "ALTER TABLE [^.]*?\\.[^.]*".r.findFirstIn(error.getMessage).getOrElse(fail(error.getMessage)).takeWhile(_ != '\n')

  on("a rule for INSERT is refused under every transport and trigger, until it is disabled", keyed) { f =>
    f.database.execute(
      "CREATE TABLE other (id BIGINT, word TEXT)",
      "CREATE RULE \"Aside\" AS ON INSERT TO t DO INSTEAD INSERT INTO other VALUES (NEW.id, NEW.word)")
    (transports :+ upsert).foreach { options =>
      val error = refused(Conditions.ModeUnsupported)(f.newRun(query, options))
      assert(error.getMessage.contains("\"Aside\" rewrites each INSERT"), options)
    }
    refused(Conditions.ModeUnsupported)(f.newRun(query, sink, trigger = TriggerMode.Continuous))
    f.database.execute(remedy(refused(Conditions.ModeUnsupported)(f.newRun(query, sink))))
    write(f, f.newRun(query, sink + ("transport" -> "staged")), 0, numbers(f, 0 until 10))
    holds(f, 0 until 10)
  }

  on("a rule for UPDATE is refused for an upsert, and does not concern an append", keyed) { f =>
    f.database.execute("CREATE RULE kept AS ON UPDATE TO t DO INSTEAD NOTHING")
    write(f, f.newRun(query, sink), 0, numbers(f, 0 until 10))
    refused(Conditions.ModeUnsupported)(f.newRun(query, upsert))
  }

  on("a rule that appears under a query ends it, with nothing written", table) { f =>
    val run = f.newRun(query, sink + ("transport" -> "staged"))
    write(f, run, 0, numbers(f, 0 until 10))
    f.database.execute(
      "CREATE TABLE other (id BIGINT, word TEXT)",
      "GRANT INSERT ON other TO loader",
      "CREATE RULE aside AS ON INSERT TO t DO INSTEAD INSERT INTO other VALUES (NEW.id, NEW.word)")
    val error = refused(Conditions.TargetChanged)(write(f, run, 1, numbers(f, 10 until 20)))
    assert(error.getMessage.contains("a rule"))
    holds(f, 0 until 10)
    assert(f.database.one("SELECT count(*) FROM other") == 0L)
  }

  on("a target under row-level security is refused under every transport, with the command", keyed) { f =>
    f.database.execute("ALTER TABLE t ENABLE ROW LEVEL SECURITY", "CREATE POLICY all_rows ON t USING (true)")
    (transports :+ upsert).foreach { options =>
      val error = refused(Conditions.PrivilegesMissing)(f.newRun(query, options))
      assert(error.values("grants") == "ALTER ROLE loader BYPASSRLS", options)
    }
  }

  private val tree = "CREATE TABLE t (id BIGINT PRIMARY KEY, word TEXT, parent BIGINT REFERENCES t)"

  on("a foreign key to the table itself is refused where an epoch's rows go by several statements", tree) { f =>
    val changes = sink ++ Map("mode" -> "changes", "keyColumns" -> "id", "opColumn" -> "word")
    Seq(sink, sink + ("transport" -> "staged"), changes).foreach { options =>
      val error = refused(Conditions.ModeUnsupported)(f.newRun(query, options))
      assert(error.getMessage.contains("t_parent_fkey refers to the table itself"), options)
    }
    Seq(sink + ("transport" -> "inline"), upsert, upsert + ("transport" -> "staged")).foreach(f.newRun(query, _))
    f.database.execute(remedy(refused(Conditions.ModeUnsupported)(f.newRun(query, sink))))
    Seq(sink, sink + ("transport" -> "staged"), changes).foreach(f.newRun(query, _))
    refused(Conditions.ModeUnsupported)(f.newRun(query, sink + ("transport" -> "prepared")))
  }
}

@Slow
final class MariadbReferenceSuite extends SinkSuite(Mariadb) {

  private val schema = new StructType().add("op", StringType).add("id", LongType).add("parent", LongType)

  onSchema(
    "a foreign key to the table itself is refused for changes, and its remedy works",
    schema,
    "CREATE TABLE t (id BIGINT PRIMARY KEY, parent BIGINT, CONSTRAINT \"a key\" FOREIGN KEY (parent) REFERENCES t (id))") {
    f =>
      val changes = Map("sinkId" -> "sink", "keyColumns" -> "id", "opColumn" -> "op")
      val error = refused(Conditions.ModeUnsupported)(f.newRun(query, changes))
      f.database.execute("ALTER TABLE .*(?=\\. The source)".r.findFirstIn(error.getMessage).get.replace("`", "\""))
      write(f, f.newRun(query, changes), 0, Seq(InternalRow(UTF8String.fromString("i"), 2L, 1L)))
  }
}

final class PostgresTreeSuite extends Trees(Postgres, " DEFERRABLE INITIALLY DEFERRED")
final class StagedTreeSuite extends Trees(PostgresBy.staged, " DEFERRABLE INITIALLY DEFERRED")
final class SqliteTreeSuite extends Trees(SqliteWithReferences, "")

private object SqliteWithReferences extends TestDatabases {
  override val kind = "SQLite with foreign keys"

  override def newDatabase(): TestDatabase = new TestDatabase {
    private val database = Sqlite.newDatabase()
    override def name: String = database.name
    override def url: String = s"${database.url}?foreign_keys=on"
    override def close(): Unit = database.close()
  }
}

/** A table whose rows refer to others of it. */
abstract class Trees(databases: TestDatabases, deferred: String) extends SinkSuite(databases) {

  private val tree = s"CREATE TABLE t (id BIGINT PRIMARY KEY, parent BIGINT REFERENCES t (id)$deferred)"
  private val schema = new StructType().add("op", StringType).add("id", LongType).add("parent", LongType)
  private val changes = Map("sinkId" -> "sink", "mode" -> "changes", "keyColumns" -> "id", "opColumn" -> "op")

  private def row(op: String, id: Long, parent: Any = null): InternalRow =
    InternalRow(UTF8String.fromString(op), id, parent)

  onSchema("rows of an epoch may refer to each other, in any order", schema, tree) { f =>
    val run = f.newRun(query, changes + ("batchSize" -> "2"))
    write(f, run, 0, Seq(row("i", 3, 2L), row("i", 2, 1L), row("i", 5, 1L), row("i", 1)))
    // A row is moved away from one that is deleted.
    write(f, run, 1, Seq(row("u", 3, 4L), row("d", 2), row("i", 4, 1L), row("u", 1, 5L)))
    assert(
      f.database.query("SELECT id, parent FROM t ORDER BY id").map(_.mkString(" ")) == Seq("1 5", "3 4", "4 1", "5 1"))
  }

  onSchema("rows that are appended in any order may refer to each other", schema, tree) { f =>
    val rows = Seq(row("i", 3, 2L), row("i", 2, 1L), row("i", 5, 1L), row("i", 1))
    val append = Map("sinkId" -> "sink", "batchSize" -> "1")
    f.database.execute("ALTER TABLE t ADD COLUMN op TEXT")
    write(f, f.newRun(query, append), 0, rows)
    assert(f.database.query("SELECT id FROM t ORDER BY id").map(_.mkString) == Seq("1", "2", "3", "5"))
  }
}
