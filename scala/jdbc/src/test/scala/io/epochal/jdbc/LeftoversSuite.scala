package io.epochal.jdbc

import scala.util.Using

import org.apache.spark.sql.types.StringType

import io.epochal.core.error.Conditions
import io.epochal.core.failpoint.Failpoints
import io.epochal.testkit.Epoch

/** Prepared transactions left behind by a run, a ledger or a server. */
final class PreparedLeftoversSuite extends SinkSuite(Postgres) {

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
    on(s"a decided epoch is completed even if the query continues with transport=$transport", table) { f =>
      diesAfterTheDecision(f, 0, 0 until 10)
      val run = f.newRun(query, prepared + ("transport" -> transport))
      write(f, run, 0, numbers(f, 0 until 10))
      write(f, run, 1, numbers(f, 10 until 20))
      holds(f, 0 until 20)
      assert(preparedLeft(f) == 0L)
    }
  }

  private val keyed = "CREATE TABLE t (id BIGINT PRIMARY KEY, word TEXT)"
  private val impatient = Map("lockTimeout" -> "1s", "retry.maxAttempts" -> "1")

  on("an attempt that waits for what a dead one has prepared fails saying that the next start ends it", keyed) { f =>
    val run = f.newRun(query, prepared ++ impatient)
    f.logOffsets(0, """{"epoch":0,"offsets":"same"}""")
    val epoch = new Epoch(0, run.newWrite(), 1)
    epoch.task(0, 0, numbers(f, 0 until 10)): Unit
    val error = refused(Conditions.DatabaseLocked)(epoch.task(0, 1, numbers(f, 0 until 10)))
    val gid = f.database.one("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()")
    assert(error.values("holder") == s"transactions that tasks have prepared ($gid)")
    assert(error.getMessage.contains("Start the query of these transactions again"))
    write(f, f.newRun(query, prepared ++ impatient), 0, numbers(f, 0 until 10))
    holds(f, 0 until 10)
  }

  slowly("so does a batch that waits for it", keyed) { f =>
    f.logOffsets(0, """{"epoch":0,"offsets":"same"}""")
    new Epoch(0, f.newRun(query, prepared).newWrite(), 1).task(0, 0, numbers(f, 0 until 10)): Unit
    val batch = f.newRun(query, impatient).newBatchWrite()
    val writer = batch.createBatchWriterFactory(() => 1).createWriter(0, 0)
    writer.write(f.row(3))
    val error = refused(Conditions.DatabaseLocked)(batch.commit(Array(writer.commit())))
    assert(error.values("holder").startsWith("transactions that tasks have prepared (epochal_"))
  }

  Seq(true, false).foreach { decided =>
    val what = if (decided) "decided" else "undecided"
    on(s"a claim that must alter the table names the statements that end $what transactions, and they work", table) {
      f =>
        f.database.execute("ALTER TABLE t OWNER TO loader")
        if (decided) diesAfterTheDecision(f, 0, 0 until 10)
        else {
          f.logOffsets(0, """{"epoch":0,"offsets":"same"}""")
          new Epoch(0, f.newRun(query, prepared).newWrite(), 1).task(0, 0, numbers(f, 0 until 10)): Unit
        }
        val wider = new JdbcSinkFixture(f.database, f.schema.add("more", StringType))
        val options = Map("sinkId" -> "sink", "addColumns" -> "true", "lockTimeout" -> "3s", "retry.maxAttempts" -> "1")
        def claim(): Any = wider.newRun(query, options).newWrite().createStreamingWriterFactory(() => 1)
        val error = refused(Conditions.SinkBlocked)(claim())
        val statement = s"${if (decided) "COMMIT" else "ROLLBACK"} PREPARED '[^']*'".r
        val named = statement.findAllIn(error.getMessage).toSeq
        assert(named.size == (if (decided) 2 else 1), error.getMessage)
        named.foreach(f.database.execute(_))
        claim()
        holds(f, 0 until (if (decided) 10 else 0))
    }
  }

  on(
    "a task of an older run that hangs in its COPY does not block its keys for the next run, and reports why it ended",
    keyed) { f =>
    f.logOffsets(0, """{"epoch":0,"offsets":"same"}""")
    val hanging = f.newRun(query, prepared).newWrite().createStreamingWriterFactory(() => 1).createWriter(0, 0, 0)
    try {
      numbers(f, 0 until 50000).foreach(hanging.write)
      write(f, f.newRun(query, prepared + ("lockTimeout" -> "2s")), 0, numbers(f, 0 until 10))
      holds(f, 0 until 10)
      refused(Conditions.SinkFenced)(hanging.commit())
    } finally hanging.close()
  }

  /** Deletes the ledger, as documented for a full reload: the old ledger's transactions must not take part. */
  private def startsAnew(f: JdbcSinkFixture): Unit = {
    f.database.execute("DELETE FROM t", "DELETE FROM epochal_ledger WHERE sink_id = 'sink'")
    write(f, f.newRun(otherQuery, prepared), 0, numbers(f, 0 until 10))
    holds(f, 0 until 10)
    assert(preparedLeft(f) == 0L)
    ()
  }

  on("an epoch decided under a lost ledger is not committed under the next", table) { f =>
    diesAfterTheDecision(f, 0, 0 until 10)
    startsAnew(f)
  }

  on("transactions prepared under a higher generation of a lost ledger are rolled back", table) { f =>
    write(f, f.newRun(query, prepared), 0, numbers(f, 0 until 10))
    write(f, f.newRun(query, prepared), 1, numbers(f, 10 until 20))
    diesAfterTheDecision(f, 2, 20 until 30)
    startsAnew(f)
  }

  on("a COMMIT PREPARED that a promoted replica has missed is repeated", table) { f =>
    val run = f.newRun(query, prepared)
    write(f, run, 0, numbers(f, 0 until 10))
    // The state of a replica that received the epoch's decision, but not the second COMMIT PREPARED.
    val gid = f.database.query("SELECT gid FROM epochal_prepared ORDER BY gid").last.head
    Using.resource(f.database.connectAsSink()) { connection =>
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

  on("transactions prepared by attempts that do not count do not accumulate while a query runs", table) { f =>
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

/** Rows that tasks brought to PostgreSQL before the ledger was set back, the user changed, or the keys were reordered. */
final class BulkLeftoversSuite extends SinkSuite(Postgres) {

  Seq("staged", "prepared").foreach { transport =>
    on(s"a run fenced by its run id removes no rows of its successor, $transport", table) { f =>
      val options = Map("sinkId" -> "sink", "transport" -> transport)
      write(f, f.newRun(query, options), 0, numbers(f, 0 until 10))
      val zombie = f.newRun(query, options)
      write(f, zombie, 1, numbers(f, 10 until 20))
      f.database.execute(
        "DELETE FROM t WHERE id >= 10",
        "UPDATE epochal_ledger SET generation = 1, last_epoch = 0, run_id = 'first'")
      val successor = f.newRun(otherQuery, options + ("onNewQuery" -> s"append:$query"))
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

  on(
    "a fenced run ends no session of the current run, even if that has a lower generation in a ledger that was set back",
    table) { f =>
    val options = Map("sinkId" -> "sink", "transport" -> "prepared")
    write(f, f.newRun(query, options), 0, numbers(f, 0 until 10))
    val zombie = f.newRun(query, options)
    write(f, zombie, 1, numbers(f, 10 until 20))
    f.database.execute("DELETE FROM t", "UPDATE epochal_ledger SET generation = 0, last_epoch = 0, run_id = 'first'")
    val successor = f.newRun(otherQuery, options + ("onNewQuery" -> s"append:$query")).newWrite()
    f.logOffsets(0, "of the other")
    val task = successor.createStreamingWriterFactory(() => 1).createWriter(0, 0, 0)
    try {
      numbers(f, 0 until 50000).foreach(task.write)
      val late = zombie.newWrite()
      late.createStreamingWriterFactory(() => 1)
      late.abort(2, Array.empty)
      successor.commit(0, Array(task.commit()))
    } finally task.close()
    holds(f, 0 until 50000)
  }

  on("another user's staging tables are left alone", table) { f =>
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
    val rotated =
      staged ++ Map("url" -> f.database.url.replace("user=loader", "user=epochal_rotated"), "trustedOwners" -> "loader")
    val run = f.newRun(query, rotated)
    write(f, run, 1, numbers(f, 10 until 20))
    write(f, run, 2, numbers(f, 20 until 30))
    holds(f, 0 until 30)
  }

  on("a backup that reads staging tables of another layout does not delay a start", table) { f =>
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
}
