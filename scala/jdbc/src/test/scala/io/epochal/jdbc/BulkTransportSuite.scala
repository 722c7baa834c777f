package io.epochal.jdbc

import scala.util.Using

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.streaming.OutputMode

import io.epochal.core.error.Conditions
import io.epochal.core.failpoint.Failpoints
import io.epochal.jdbc.database.ConnectionPool
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.jdbc.postgres.PostgresDialect
import io.epochal.testkit.Epoch

/** How tasks bring rows to PostgreSQL without the driver, and what they leave behind. */
final class BulkTransportSuite extends SinkSuite(Postgres) {

  private val keyed = "CREATE TABLE t (id BIGINT PRIMARY KEY, word TEXT)"
  private val auto = Map("sinkId" -> "sink", "inlineMaxBytes" -> "2k")
  private val staged = Map("sinkId" -> "sink", "transport" -> "staged")
  private val prepared = Map("sinkId" -> "sink", "transport" -> "prepared")

  private def stagingTables(f: JdbcSinkFixture): Seq[String] =
    f.database
      .query("SELECT relname FROM pg_class WHERE relname ~ '^epochal_staging_' AND relkind = 'r'")
      .map(_.head.toString)

  private def taken(f: JdbcSinkFixture): Any =
    f.database.one("SELECT count(*) FROM epochal_staging WHERE token IS NOT NULL")
  private def preparedLeft(f: JdbcSinkFixture): Any =
    f.database.one("SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()")

  /** One partition with many rows, the other with few. */
  private def skewed(f: JdbcSinkFixture, run: JdbcRun, number: Long, many: Range, few: Range): Unit = {
    f.logOffsets(number, s"{$number}")
    val epoch = new Epoch(number, run.newWrite(), 2)
    epoch.commit(Seq(epoch.task(0, 0, numbers(f, many)), epoch.task(1, 1, numbers(f, few))))
  }

  on("auto sends small epochs inline, switches to staging where a task exceeds its share, and reports it", table) { f =>
    val run = f.newRun(query, auto)
    write(f, run, 0, numbers(f, 0 until 10))
    assert(run.metrics("transport") == "inline" && run.metrics("transportReason").contains("within inlineMaxBytes"))
    assert(stagingTables(f).isEmpty)
    skewed(f, run, 1, 10 until 500, 500 until 505)
    assert(run.metrics("transport") == "inline+staged")
    assert(run.metrics("transportReason") == "1 of 2 tasks exceeded their share of inlineMaxBytes")
    write(f, run, 2, numbers(f, 505 until 1500))
    assert(run.metrics("transport") == "staged")
    holds(f, 0 until 1500)
    assert(f.database.query("SELECT word FROM t ORDER BY id").map(_.head) == (0 until 1500).map(n => s"row $n"))
    assert(taken(f) == 0L)
  }

  on("an epoch that is partly inline and partly staged is upserted as a whole", keyed) { f =>
    val run = f.newRun(query, auto + ("keyColumns" -> "id"))
    skewed(f, run, 0, 0 until 500, 500 until 505)
    skewed(f, run, 1, 3 until 600, 0 until 3)
    assert(run.metrics("transport") == "inline+staged")
    holds(f, 0 until 600)
    refused(Conditions.DuplicateKeys)(
      skewed(f, f.newRun(query, auto + ("keyColumns" -> "id")), 2, 0 until 500, 7 until 8))
    holds(f, 0 until 600)
  }

  on("complete mode replaces the rows by staging", table) { f =>
    val run = f.newRun(query, staged, OutputMode.Complete)
    write(f, run, 0, numbers(f, 0 until 100))
    write(f, run, 1, numbers(f, 50 until 70))
    holds(f, 50 until 70)
  }

  slowly("staging tables are reused: the catalog does not grow with the epochs", table) { f =>
    val run = f.newRun(query, staged)
    (0 until 30).foreach(n => write(f, run, n.toLong, numbers(f, 20 * n until 20 * (n + 1))))
    write(f, f.newRun(query, staged), 30, numbers(f, 600 until 620))
    holds(f, 0 until 620)
    assert(stagingTables(f).size <= 2)
    assert(f.database.one("SELECT count(*) FROM epochal_staging") == stagingTables(f).size.toLong)
  }

  on("rows staged by attempts that do not count are removed with the next epoch", table) { f =>
    val run = f.newRun(query, staged)
    f.logOffsets(0, "{0}")
    val epoch = new Epoch(0, run.newWrite(), 1)
    epoch.task(0, 0, numbers(f, 100 until 110))
    epoch.deadTask(0, 1, numbers(f, 100 until 110))
    val winner = epoch.task(0, 2, numbers(f, 0 until 10))
    epoch.commit(Seq(winner))
    holds(f, 0 until 10)
    assert(taken(f) == 0L)
    epoch.task(0, 3, numbers(f, 100 until 110))
    assert(taken(f) == 1L)
    write(f, run, 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
    assert(taken(f) == 0L)
  }

  on("staged rows count although a straggler that looked for a free table holds their row lock", table) { f =>
    val run = f.newRun(query, staged)
    f.logOffsets(0, "{0}")
    val epoch = new Epoch(0, run.newWrite(), 2)
    val messages = Seq(epoch.task(0, 0, numbers(f, 0 until 10)), epoch.task(1, 1, numbers(f, 10 until 20)))
    Using.resource(f.database.connect()) { straggler =>
      straggler.setAutoCommit(false)
      val line = "SELECT FROM epochal_staging WHERE partition = 0 FOR UPDATE"
      Using.resource(straggler.createStatement())(_.execute(line))
      epoch.commit(messages)
      holds(f, 0 until 20)
      assert(taken(f) == 1L)
      write(f, run, 1, numbers(f, 20 until 30))
      holds(f, 0 until 30)
      straggler.rollback()
    }
    write(f, run, 2, numbers(f, 30 until 40))
    holds(f, 0 until 40)
    assert(taken(f) == 0L)
  }

  on("staging emptied by a server crash is an error, and the next run writes the epoch", table) { f =>
    f.logOffsets(0, "{0}")
    val epoch = new Epoch(0, f.newRun(query, staged).newWrite(), 1)
    val message = epoch.task(0, 0, numbers(f, 0 until 10))
    stagingTables(f).foreach(name => f.database.execute(s"TRUNCATE $name"))
    val error = refused(Conditions.StagingLost)(epoch.commit(Seq(message)))
    assert(error.values("found") == "0" && error.values("sent") == "10")
    epoch.abort(Seq(message))
    holds(f, 0 until 0)
    write(f, f.newRun(query, staged), 0, numbers(f, 0 until 10))
    holds(f, 0 until 10)
  }

  on("a backup that reads the staging tables does not delay an epoch", table) { f =>
    val run = f.newRun(query, staged)
    write(f, run, 0, numbers(f, 0 until 10))
    val before = stagingTables(f)
    Using.resource(f.database.connect()) { backup =>
      backup.setAutoCommit(false)
      before.foreach(name =>
        Using.resource(backup.createStatement())(_.execute(s"LOCK TABLE $name IN ACCESS SHARE MODE")))
      write(f, run, 1, numbers(f, 10 until 20))
      write(f, run, 2, numbers(f, 20 until 30))
      holds(f, 0 until 30)
      backup.rollback()
    }
    write(f, run, 3, numbers(f, 30 until 40))
    holds(f, 0 until 40)
    assert(taken(f) == 0L)
  }

  on("staging tables follow the target when its columns change", table) { f =>
    write(f, f.newRun(query, staged), 0, numbers(f, 0 until 10))
    f.database.execute("ALTER TABLE t ALTER COLUMN word TYPE varchar(20)")
    val run = f.newRun(query, staged)
    write(f, run, 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
    assert(f.database.one("SELECT count(DISTINCT layout) FROM epochal_staging") == 1L)
  }

  on("transactions prepared by attempts that do not count are rolled back with their epoch", table) { f =>
    val run = f.newRun(query, prepared)
    f.logOffsets(0, "{0}")
    val epoch = new Epoch(0, run.newWrite(), 1)
    epoch.task(0, 0, numbers(f, 100 until 110))
    epoch.deadTask(0, 1, numbers(f, 100 until 110))
    epoch.commit(Seq(epoch.task(0, 2, numbers(f, 0 until 10))))
    holds(f, 0 until 10)
    assert(preparedLeft(f) == 0L)
  }

  on("a PREPARE whose response was lost is found, and its task is not retried", keyed) { f =>
    val run = f.newRun(query, prepared)
    Failpoints.arm("task.prepared=disconnect")
    write(f, run, 0, numbers(f, 0 until 10))
    Failpoints.disarm()
    holds(f, 0 until 10)
    assert(preparedLeft(f) == 0L)
  }

  on("a task that lost the response to its PREPARE returns its connection before it takes another", keyed) { f =>
    val few = prepared ++ Map("maxConnections" -> "2", "retry.deadline" -> "20s")
    val options = JdbcOptions.read(f.database.options("t") ++ few).fold(throw _, identity)
    f.logOffsets(0, "{0}")
    val epoch = new Epoch(0, f.newRun(query, few).newWrite(), 1)
    Failpoints.arm("task.prepared=disconnect")
    val message =
      try
        Using.resource(new ConnectionPool(options.connection, PostgresDialect, options.lockTimeout).lend()) { _ =>
          assert(ConnectionPool.count(options.connection) == 1)
          epoch.task(0, 0, numbers(f, 0 until 10))
        }
      finally Failpoints.disarm()
    epoch.commit(Seq(message))
    holds(f, 0 until 10)
    assert(preparedLeft(f) == 0L)
  }

  on("a replayed epoch by prepared transactions does not collide with its own rows in a unique index", keyed) { f =>
    write(f, f.newRun(query, prepared), 0, numbers(f, 0 until 10))
    val again = f.newRun(query, prepared)
    write(f, again, 0, numbers(f, 0 until 10))
    assert(again.metrics("outcome") == "repeated")
    write(f, again, 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
    assert(preparedLeft(f) == 0L)
  }

  on("a batch write uses staging and leaves no table behind", table) { f =>
    val run = f.newRun(query, Map("inlineMaxBytes" -> "2k"))
    val write = run.newBatchWrite()
    val factory = write.createBatchWriterFactory(() => 2)
    def task(partition: Int, rows: Seq[InternalRow]) = {
      val writer = factory.createWriter(partition, partition.toLong)
      try {
        rows.foreach(writer.write(_))
        writer.commit()
      } finally writer.close()
    }
    write.commit(Array(task(0, numbers(f, 0 until 500)), task(1, numbers(f, 500 until 510))))
    holds(f, 0 until 510)
    assert(stagingTables(f).isEmpty && f.database.one("SELECT count(*) FROM epochal_staging") == 0L)
  }

  on("prepared transactions are committed with their epoch; attempts that do not count are rolled back", table) { f =>
    val run = f.newRun(query, prepared)
    f.logOffsets(0, "{0}")
    val epoch = new Epoch(0, run.newWrite(), 2)
    epoch.task(0, 0, numbers(f, 100 until 110))
    val counted = Seq(epoch.task(0, 2, numbers(f, 0 until 10)), epoch.task(1, 1, numbers(f, 10 until 20)))
    assert(preparedLeft(f) == 3L)
    epoch.commit(counted)
    holds(f, 0 until 20)
    assert(run.metrics("transport") == "prepared")
    write(f, f.newRun(query, prepared), 1, numbers(f, 20 until 30))
    holds(f, 0 until 30)
    assert(preparedLeft(f) == 0L)
  }

  on("a decided epoch is completed by the next run; an undecided one is rolled back", table) { f =>
    Seq(
      "prepared.before-commit@1",
      "prepared.before-commit@2",
      "prepared.after-commit@1",
      "commit.after@1").zipWithIndex
      .foreach { case (step, i) =>
        val (name, time) = step.splitAt(step.indexOf('@'))
        val rows = numbers(f, 10 * i until 10 * (i + 1))
        Failpoints.arm(s"$name=fail$time")
        intercept[IllegalStateException](write(f, f.newRun(query, prepared), i.toLong, rows))
        Failpoints.disarm()
        assert(ledger(f, "last_epoch") == i.toLong)
        write(f, f.newRun(query, prepared), i.toLong, rows)
        holds(f, 0 until 10 * (i + 1))
        assert(preparedLeft(f) == 0L, step)
      }
    Failpoints.arm("commit.before=fail")
    intercept[IllegalStateException](write(f, f.newRun(query, prepared), 4, numbers(f, 40 until 50)))
    Failpoints.disarm()
    f.newRun(query, prepared).newWrite().createStreamingWriterFactory(() => 2)
    assert(preparedLeft(f) == 0L)
    holds(f, 0 until 40)
  }

  on("a task of a run that was replaced prepares nothing", table) { f =>
    f.logOffsets(0, "{0}")
    val old = new Epoch(0, f.newRun(query, prepared).newWrite(), 1)
    write(f, f.newRun(query, prepared), 0, numbers(f, 0 until 10))
    refused(Conditions.SinkFenced)(old.task(0, 0, numbers(f, 0 until 10)))
    assert(preparedLeft(f) == 0L)
  }

  on("prepared is refused before anything is written where it cannot work", keyed) { f =>
    refused(Conditions.ModeUnsupported)(f.newRun(query, prepared + ("keyColumns" -> "id")))
    val tooMany =
      refused(Conditions.ModeUnsupported)(f.newRun(query, prepared).newWrite().createStreamingWriterFactory(() => 1000))
    assert(tooMany.getMessage.contains("max_prepared_transactions"))
    refused(Conditions.ModeUnsupported)(
      f.newRun(query, prepared, OutputMode.Complete).newWrite().createStreamingWriterFactory(() => 1))
    refused(Conditions.ModeUnsupported)(
      f.newRun(query, prepared - "sinkId").newBatchWrite().createBatchWriterFactory(() => 1))
    holds(f, 0 until 0)
  }

  test("SQLite: staged and prepared are refused by name") {
    val database = Sqlite.newDatabase()
    val f = new JdbcSinkFixture(database)
    try
      Seq(staged, prepared).foreach(options => refused(Conditions.ModeUnsupported)(f.newRun(query, options)))
    finally f.close()
  }
}
