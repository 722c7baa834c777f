package io.epochal.spark.sink.jdbc

import java.sql.{Connection, SQLException}

import scala.collection.mutable
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}
import scala.util.{Try, Using}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{IntegerType, LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String.fromString

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.testkit.Epoch

/** Prepared transactions that a run, a ledger or a server has left to others. */
final class PreparedAttackSuite extends SinkSuite(Postgres) {

  private val prepared = Map("sinkId" -> "sink", "transport" -> "prepared")

  private def preparedLeft(f: JdbcSinkFixture): Any =
    f.database.one("SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()")

  private def diesAfterTheDecision(f: JdbcSinkFixture, epoch: Long, rows: Range): Unit = {
    Failpoints.arm("prepared.before-commit=fail")
    intercept[IllegalStateException](write(f, f.newRun(query, prepared), epoch, numbers(f, rows)))
    Failpoints.disarm()
    assert(ledger(f, "last_epoch") == epoch && preparedLeft(f) == 2L)
  }

  Seq("inline", "auto", "staged").foreach { transport =>
    on(s"a decided epoch is completed though the query goes on with transport=$transport", table) { f =>
      diesAfterTheDecision(f, 0, 0 until 10)
      val run = f.newRun(query, prepared + ("transport" -> transport))
      write(f, run, 0, numbers(f, 0 until 10))
      write(f, run, 1, numbers(f, 10 until 20))
      holds(f, 0 until 20)
      assert(preparedLeft(f) == 0L)
    }
  }

  on("what was decided under a ledger that is gone is not committed under the next", table) { f =>
    diesAfterTheDecision(f, 0, 0 until 10)
    f.database.execute("DELETE FROM t", "DELETE FROM epochal_ledger WHERE sink_id = 'sink'")
    write(f, f.newRun(otherQuery, prepared), 0, numbers(f, 0 until 10))
    holds(f, 0 until 10)
    assert(preparedLeft(f) == 0L)
  }

  on("what was prepared under a higher generation of a ledger that is gone is rolled back", table) { f =>
    write(f, f.newRun(query, prepared), 0, numbers(f, 0 until 10))
    write(f, f.newRun(query, prepared), 1, numbers(f, 10 until 20))
    diesAfterTheDecision(f, 2, 20 until 30)
    f.database.execute("DELETE FROM t", "DELETE FROM epochal_ledger WHERE sink_id = 'sink'")
    write(f, f.newRun(otherQuery, prepared), 0, numbers(f, 0 until 10))
    holds(f, 0 until 10)
    assert(preparedLeft(f) == 0L)
  }

  on("a COMMIT PREPARED that a promoted replica has not got is made up for", table) { f =>
    val run = f.newRun(query, prepared)
    write(f, run, 0, numbers(f, 0 until 10))
    // As a replica has it that got the epoch's decision, and not the second COMMIT PREPARED.
    val gid = f.database.query("SELECT gid FROM epochal_prepared ORDER BY gid").last.head
    Using.resource(f.database.connect()) { connection =>
      connection.setAutoCommit(false)
      Using.resource(connection.createStatement()) { statement =>
        statement.execute("DELETE FROM t WHERE id >= 5")
        connection.commit()
        statement.execute("INSERT INTO t SELECT n, 'row ' || n FROM generate_series(5, 9) AS n")
        statement.execute(s"PREPARE TRANSACTION '$gid'")
      }
      connection.commit()
    }
    write(f, run, 1, numbers(f, 10 until 20))
    write(f, f.newRun(query, prepared), 2, numbers(f, 20 until 30))
    holds(f, 0 until 30)
    assert(preparedLeft(f) == 0L)
  }

  on("what attempts that do not count have prepared does not pile up while a query runs", table) { f =>
    val run = f.newRun(query, prepared)
    (0 until 20).foreach { n =>
      f.logOffsets(n.toLong, s"{$n}")
      val epoch = new Epoch(n.toLong, run.newWrite(), 1)
      epoch.task(0, 0, numbers(f, n until n + 1))
      epoch.commit(Seq(epoch.task(0, 1, numbers(f, n until n + 1))))
    }
    holds(f, 0 until 20)
    assert(preparedLeft(f) == 0L)
  }
}

/** What tasks have brought to PostgreSQL, when the ledger was set back, the user changed, or the keys got another order. */
final class BulkAttackSuite extends SinkSuite(Postgres) {

  Seq("staged", "prepared").foreach { transport =>
    on(s"a run that was fenced by run id removes nothing of its successor's, $transport", table) { f =>
      val options = Map("sinkId" -> "sink", "transport" -> transport)
      write(f, f.newRun(query, options), 0, numbers(f, 0 until 10))
      val zombie = f.newRun(query, options)
      write(f, zombie, 1, numbers(f, 10 until 20))
      f.database.execute(
        "DELETE FROM t WHERE id >= 10",
        "UPDATE epochal_ledger SET generation = 1, last_epoch = 0, run_id = 'first'")
      val successor = f.newRun(otherQuery, options + ("onNewQuery" -> "append"))
      f.logOffsets(0, "of the other")
      val epoch = new Epoch(0, successor.newWrite(), 1)
      val message = epoch.task(0, 0, numbers(f, 10 until 20))
      val late = zombie.newWrite()
      late.createStreamingWriterFactory(() => 1)
      late.abort(2, Array.empty)
      epoch.commit(Seq(message))
      holds(f, 0 until 20)
    }
  }

  on("staging tables of another user are left alone", table) { f =>
    val staged = Map("sinkId" -> "sink", "transport" -> "staged")
    val first = f.newRun(query, staged)
    write(f, first, 0, numbers(f, 0 until 10))
    val left = new Epoch(1, first.newWrite(), 2)
    left.task(0, 7, numbers(f, 100 until 110))
    f.database.execute(
      "DO $$ BEGIN CREATE ROLE epochal_rotated LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
      "GRANT ALL ON SCHEMA public TO epochal_rotated",
      "GRANT ALL ON t, epochal_ledger, epochal_ledger_retired, epochal_ledger_history, epochal_staging TO epochal_rotated"
    )
    val rotated = staged + ("url" -> f.database.url.replace("user=postgres", "user=epochal_rotated"))
    val run = f.newRun(query, rotated)
    write(f, run, 1, numbers(f, 10 until 20))
    write(f, run, 2, numbers(f, 20 until 30))
    holds(f, 0 until 30)
  }

  on("a backup that reads staging tables of another shape does not hold up a start", table) { f =>
    val staged = Map("sinkId" -> "sink", "transport" -> "staged", "lockTimeout" -> "1s", "retry.maxAttempts" -> "2")
    write(f, f.newRun(query, staged), 0, numbers(f, 0 until 10))
    f.database.execute("ALTER TABLE t ALTER COLUMN word TYPE varchar(20)")
    Using.resource(f.database.connect()) { backup =>
      backup.setAutoCommit(false)
      f.database
        .query("SELECT name FROM epochal_staging")
        .flatten
        .foreach(name => Using.resource(backup.createStatement())(_.execute(s"LOCK TABLE $name IN ACCESS SHARE MODE")))
      write(f, f.newRun(query, staged), 1, numbers(f, 10 until 20))
      backup.rollback()
    }
    write(f, f.newRun(query, staged), 2, numbers(f, 20 until 30))
    holds(f, 0 until 30)
    assert(f.database.one("SELECT count(DISTINCT layout) FROM epochal_staging") == 1L)
  }

  Seq("inline", "staged").foreach { transport =>
    onSchema(
      s"a key that gets another collation is told apart by that, $transport",
      new StructType().add("id", LongType).add("word", StringType),
      "CREATE TABLE t (id BIGINT, word TEXT PRIMARY KEY)",
      "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    ) { f =>
      val options = Map("sinkId" -> "sink", "transport" -> transport, "keyColumns" -> "word", "orderColumn" -> "id")
      def rows(pairs: (Long, String)*) = pairs.map { case (id, word) => InternalRow(id, fromString(word)) }
      write(f, f.newRun(query, options), 0, rows(1L -> "a", 2L -> "b"))
      f.database.execute("ALTER TABLE t ALTER word TYPE text COLLATE ci")
      write(f, f.newRun(query, options), 1, rows(3L -> "A", 4L -> "a", 5L -> "c"))
      assert(f.stored().sorted == Seq(2L, 4L, 5L))
    }
  }
}

/** Ledger tables that somebody else has made, as the documents allow. */
final class LedgerTablesAttackSuite extends SinkSuite(Sqlite) {

  on("the columns of the retired rows may stand in another order than the ledger's", table) { f =>
    f.database.execute(
      """CREATE TABLE epochal_ledger_retired (sink_id TEXT NOT NULL, v INTEGER NOT NULL,
        |query_id TEXT NOT NULL, target TEXT NOT NULL, target_oid INTEGER, generation INTEGER NOT NULL,
        |trigger_mode TEXT, offsets_hash TEXT, digest TEXT, "rows" INTEGER, epochs INTEGER NOT NULL,
        |total_rows INTEGER NOT NULL, last_epoch INTEGER, run_id TEXT NOT NULL, server_id TEXT NOT NULL,
        |timeline INTEGER, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, PRIMARY KEY (sink_id, query_id))""".stripMargin)
    val append = Map("sinkId" -> "sink", "onNewQuery" -> "append")
    val first = f.newRun(query)
    (0 until 3).foreach(n => write(f, first, n.toLong, numbers(f, 10 * n until 10 * (n + 1))))
    write(f, f.newRun(query), 3, numbers(f, 30 until 40))
    write(f, f.newRun(otherQuery, append), 0, numbers(f, 40 until 50), offsets = "of the other")
    write(f, f.newRun(query, append), 3, numbers(f, 30 until 40))
    holds(f, 0 until 50)
  }
}

/** Batch writes have no ledger that would notice. */
final class BatchAttackSuite extends SinkSuite(Postgres) {

  private val numeric = new StructType().add("id", LongType)

  Seq("inline", "staged").foreach { transport =>
    onSchema(
      s"a column that changes its type under a batch write fails it, $transport",
      numeric,
      "CREATE TABLE t (id BIGINT)") { f =>
      val write = f.newRun(query, Map("transport" -> transport)).newBatchWrite()
      val factory = write.createBatchWriterFactory(() => 1)
      if (transport == "staged") f.database.execute("ALTER TABLE t ALTER COLUMN id TYPE double precision")
      val writer = factory.createWriter(0, 0L)
      (1L to 3L).foreach(n => writer.write(InternalRow(n)))
      val message = writer.commit()
      writer.close()
      if (transport == "inline") f.database.execute("ALTER TABLE t ALTER COLUMN id TYPE double precision")
      refused(Conditions.TargetChanged)(write.commit(Array(message)))
      assert(f.database.query("SELECT id FROM t").isEmpty)
    }
  }
}

final class PostgresTiesSuite extends Ties(Postgres)
final class StagedTiesSuite extends Ties(PostgresBy.staged)
final class SqliteTiesSuite extends Ties(Sqlite)

/** Changes of one key that no order tells apart. */
abstract class Ties(databases: TestDatabases) extends SinkSuite(databases) {
  private val schema = new StructType().add("op", StringType).add("id", LongType).add("version", IntegerType)

  onSchema(
    "a row that is stored and deleted at the same place of the order has one fate, in whatever order the two come",
    schema,
    "CREATE TABLE t (id BIGINT PRIMARY KEY, version INT)") { f =>
    val run = f.newRun(
      query,
      Map(
        "sinkId" -> "sink",
        "mode" -> "changes",
        "keyColumns" -> "id",
        "opColumn" -> "op",
        "orderColumn" -> "version"))
    def row(op: String, id: Long) = InternalRow(fromString(op), id, 1)
    write(f, run, 0, (0L until 200L).map(row("i", _)))
    val pairs =
      (0L until 200L).map(id => if (id % 2 == 0) Seq(row("i", id), row("d", id)) else Seq(row("d", id), row("i", id)))
    write(f, run, 1, pairs.flatten)
    holds(f, 0 until 200)
  }
}

/** A user without ALTER, as the documents allow. */
final class MariadbAttackSuite extends SinkSuite(Mariadb) {

  private def limited(f: JdbcSinkFixture): Map[String, String] = {
    val schema = f.database.one("SELECT DATABASE()")
    f.database.execute(
      "CREATE USER IF NOT EXISTS 'limited'@'%'",
      s"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, CREATE TEMPORARY TABLES ON `$schema`.* TO 'limited'@'%'")
    Map("sinkId" -> "sink", "url" -> f.database.url.replace("user=root", "user=limited"))
  }

  on("a claim is one transaction for a user who may not ALTER the table", table) { f =>
    val user = limited(f)
    val older = f.newRun(query, user)
    write(f, older, 0, numbers(f, 0 until 10))
    assert(ledger(f, "target_oid") == null)
    val newer = f.newRun(query, user)
    val (claim, commit) = Using.resource(f.database.connect()) { other =>
      // Where a claim reads after it has read the ledger.
      execute(other, "LOCK TABLES epochal_ledger_retired WRITE")
      val claim = Future(newer.newWrite().createStreamingWriterFactory(() => 2))
      val until = 10.seconds.fromNow
      while (until.hasTimeLeft() && f.database
          .query("SELECT 1 FROM information_schema.processlist WHERE state LIKE 'Waiting for table%'")
          .isEmpty) Thread.sleep(20)
      val commit = Future(write(f, older, 1, numbers(f, 10 until 20)))
      Try(Await.ready(commit, 3.seconds))
      execute(other, "UNLOCK TABLES")
      (claim, commit)
    }
    Await.ready(claim, 60.seconds)
    val outcome = Await.ready(commit, 60.seconds).value.get
    write(f, newer, 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
    assert(
      outcome.failed.toOption
        .collect { case e: EpochalException => e.condition.name }
        .contains(Conditions.SinkFenced.name))
  }

  on("a connection to a server that became read-only is not used again", table) { f =>
    val options = JdbcOptions.read(f.database.options("t")).toOption.get
    val database = new Database(Dialect.of(f.database.url).get, options, () => ())
    val used = mutable.Buffer.empty[Long]
    database.transaction("a load") { transaction =>
      used ++= Sql.query(transaction.connection, "SELECT CONNECTION_ID()")(_.getLong(1))
      if (used.size < 3) throw new SQLException("read-only", "HY000", 1290)
    }
    assert(used.distinct.size == 3)
  }

  private def execute(connection: Connection, sql: String): Unit =
    Using.resource(connection.createStatement())(_.execute(sql)): Unit
}
