package io.epochal.jdbc

import java.nio.file.Files
import java.sql.Connection

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}
import scala.util.Using

import org.apache.spark.sql.streaming.OutputMode
import org.scalatest.concurrent.Eventually.eventually
import org.scalatest.concurrent.PatienceConfiguration
import org.scalatest.tags.Slow
import org.scalatest.time.{Millis, Span}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.{Position, TriggerMode}
import io.epochal.jdbc.database.ConnectionPool

final class PostgresFlushingSuite extends FlushingSuite(Postgres, "SELECT count(*) FROM pg_locks WHERE NOT granted") {

  /** Pages of the table of progress that all sessions have read, once they have ended. */
  private def pagesRead(f: JdbcSinkFixture): Long = {
    ConnectionPool.sweep(java.time.Duration.ZERO)
    val read =
      "SELECT heap_blks_hit + heap_blks_read FROM pg_statio_user_tables WHERE relname = 'epochal_ledger_progress'"
    f.database.one(read).asInstanceOf[Long]
  }

  slowly("a flush reads as few pages after a thousand others while an old snapshot is open", table) { f =>
    val running = job(f, TriggerMode.Continuous, 0, slow)
    Using.resource(f.database.connect()) { reader =>
      reader.setAutoCommit(false)
      reader.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ)
      reader.createStatement().executeQuery("SELECT count(*) FROM t").close()
      val before = pagesRead(f)
      (0 until 1000).foreach { n =>
        running.put(0, n to n)
        running.flush()
        running.next()
      }
      val read = pagesRead(f) - before
      assert(read < 8000, "pages; with a lookup that steps over all earlier versions 15,000")
    }
  }

  both.foreach { trigger =>
    on(s"${trigger.name}: rows that the database swallows fail their flush", table) { f =>
      f.database.execute(
        "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER swallow BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.id = 7) EXECUTE FUNCTION swallow()")
      val running = job(f, trigger, 0, slow)
      running.put(0, 0 until 10)
      refused(Conditions.RowsDropped)(running.end())
      holds(f, 0 until 0)
    }
  }
}

@Slow
final class MariadbFlushingSuite extends FlushingSuite(Mariadb, FlushingSuite.InnodbWaits)
@Slow
final class MysqlFlushingSuite extends FlushingSuite(Mysql8, FlushingSuite.InnodbWaits)

final class SqliteFlushingSuite extends SinkSuite(Sqlite) {

  on("a continuous or real-time trigger is refused by name: only the driver writes there", table) { f =>
    Seq(TriggerMode.Continuous, TriggerMode.RealTime).foreach { trigger =>
      val write = f.newRun(query, Map("sinkId" -> "sink"), trigger = trigger).newWrite()
      refused(Conditions.TriggerUnsupported)(write.createStreamingWriterFactory(FlushingJobs.tasks(1)))
    }
  }
}

private object FlushingSuite {
  val InnodbWaits = "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
}

/** Rows stored in the middle of an epoch, with the test acting as the engine.
  *
  * @param waits
  *   SQL that counts the transactions that are waiting for a lock
  */
abstract class FlushingSuite(databases: TestDatabases, waits: String) extends FlushingJobs(databases) {

  /** Starts something while the job's flush of the rows 0 until 5 is about to commit, and releases the flush once that waits for it.
    */
  private def duringFlush[A](f: JdbcSinkFixture, flushing: Job)(body: Job => A): A = {
    val gate = Files.createTempFile("epochal", "gate")
    Failpoints.arm(s"flush.before-commit=hold:$gate@1")
    flushing.put(0, 0 until 5)
    eventually(assert(Failpoints.isHeld(Failpoint.BeforeFlushCommit)))
    val waiting = Future(body(flushing))
    // InnoDB serves queries within 100 ms from a cache.
    try eventually(PatienceConfiguration.Interval(Span(250, Millis)))(assert(f.database.one(waits) != 0L))
    finally Files.delete(gate)
    Await.result(waiting, 30.seconds)
  }

  both.foreach { trigger =>
    on(s"${trigger.name}: rows are visible before their epoch ends, and without a next row", table) { f =>
      val running = job(f, trigger, 0)
      running.put(0, 0 until 3)
      eventually(holds(f, 0 until 3))
      running.put(1, 3 until 5)
      eventually(holds(f, 0 until 5))
      running.end()
      assert(ledger(f, "last_epoch") == 0L && ledger(f, "trigger_mode") == trigger.name)
      assert(ledger(f, "total_rows") == 5L)
    }

    on(s"${trigger.name}: rows stored beyond the last commit are skipped, whether more follow or fewer", table) { f =>
      val first = job(f, trigger, 0)
      first.put(0, 0 until 10)
      eventually(holds(f, 0 until 10))
      first.stop()
      val shorter = job(f, trigger, 0)
      shorter.put(0, 0 until 4)
      shorter.end()
      holds(f, 0 until 10)
      logged(f, trigger, 0)
      val longer = job(f, trigger, 1)
      longer.put(0, 4 until 12)
      longer.end()
      holds(f, 0 until 12)
      assert(ledger(f, "total_rows") == 12L)
    }

    on(s"${trigger.name}: an epoch that Spark has not committed is repeated with another end", table) { f =>
      val first = job(f, trigger, 0)
      first.put(0, 0 until 10)
      first.end()
      val again = job(f, trigger, 0)
      again.put(0, 0 until 15)
      again.end()
      holds(f, 0 until 15)
      assert(ledger(f, "total_rows") == 15L)
    }

    on(s"${trigger.name}: rows that differ from those stored are an error, and nothing is stored", table) { f =>
      val first = job(f, trigger, 0)
      first.put(0, 0 until 10)
      first.end()
      val again = job(f, trigger, 0)
      again.put(0, 0 until 5)
      again.put(0, 6 until 10)
      refused(Conditions.RowsNotRepeated)(again.put(0, 5 until 6))
      holds(f, 0 until 10)
    }

    on(
      s"${trigger.name}: a changed number of partitions is refused while rows are pending, and accepted when none are",
      table) { f =>
      val first = job(f, trigger, 0)
      first.put(0, 0 until 10)
      first.end()
      refused(Conditions.RowsOwed)(job(f, trigger, 0, partitions = 3))
      logged(f, trigger, 0)
      val wider = job(f, trigger, 1, partitions = 3)
      wider.put(2, 10 until 12)
      wider.end()
      holds(f, 0 until 12)
    }

    on(s"${trigger.name}: a zombie stores nothing after a newer run's claim, and commits nothing", table) { f =>
      val zombie = job(f, trigger, 0, slow)
      zombie.put(0, 0 until 5)
      val running = job(f, trigger, 0)
      refused(Conditions.SinkFenced)(zombie.end())
      running.put(0, 0 until 5)
      running.end()
      holds(f, 0 until 5)
    }

    on(s"${trigger.name}: a claim waits for a flush that is about to commit, and its rows are skipped", table) { f =>
      val running = duringFlush(f, job(f, trigger, 0))(_ => job(f, trigger, 0))
      running.put(0, 0 until 7)
      running.end()
      holds(f, 0 until 7)
    }

    on(s"${trigger.name}: a lost response to the COMMIT of a flush is found in the ledger", table) { f =>
      Seq("flush.before-commit", "flush.after-commit").zipWithIndex.foreach { case (step, i) =>
        val running = job(f, trigger, i.toLong)
        Failpoints.arm(s"$step=disconnect@1")
        running.put(0, 10 * i until 10 * (i + 1))
        running.end()
        holds(f, 0 until 10 * (i + 1))
        logged(f, trigger, i.toLong)
      }
    }

    on(s"${trigger.name}: a lost response to the COMMIT of an epoch is found in the ledger, and written once", table) {
      f =>
        val running = job(f, trigger, 0)
        Failpoints.arm("commit.after=disconnect@1")
        running.put(0, 0 until 10)
        running.end()
        assert(ledger(f, "epochs") == 1L && ledger(f, "total_rows") == 10L)
    }

    on(s"${trigger.name}: micro-batches continue when no rows are pending, and then the trigger resumes", table) { f =>
      val first = job(f, trigger, 0)
      first.put(0, 0 until 10)
      first.end()
      logged(f, trigger, 0)
      write(f, f.newRun(query), 1, numbers(f, 10 until 20))
      assert(f.database.one("SELECT count(*) FROM epochal_ledger_progress") == 0L)
      val back = job(f, trigger, 2)
      back.put(1, 20 until 25)
      back.end()
      holds(f, 0 until 25)
    }

    on(s"${trigger.name}: micro-batches are refused before anything is written while rows are pending", table) { f =>
      val first = job(f, trigger, 0)
      first.put(0, 0 until 10)
      eventually(holds(f, 0 until 10))
      first.stop()
      refused(Conditions.RowsOwed)(write(f, f.newRun(query), 0, numbers(f, 0 until 10)))
      holds(f, 0 until 10)
    }

    on(
      s"${trigger.name}: micro-batches that repeat an epoch are refused at the next one while rows are pending",
      table) { f =>
      write(f, f.newRun(query), 0, numbers(f, 0 until 10))
      val first = job(f, trigger, 1)
      first.put(0, 10 until 20)
      eventually(holds(f, 0 until 20))
      first.stop()
      val again = f.newRun(query, Map("sinkId" -> "sink"))
      again.engine.batch = Some(0)
      write(f, again, 0, numbers(f, 0 until 10))
      again.engine.batch = Some(1)
      refused(Conditions.RowsOwed)(write(f, again, 1, numbers(f, 10 until 20)))
      holds(f, 0 until 20)
    }

    on(s"${trigger.name}: a query whose last epoch is the first one is replaced by another in micro-batches", table) {
      f =>
        val first = job(f, trigger, 0)
        first.put(0, 0 until 10)
        first.end()
        val other = f.newRun("another", Map("sinkId" -> "sink", "onNewQuery" -> "replace"))
        other.engine.batch = Some(0)
        write(f, other, 0, numbers(f, 20 until 30))
        holds(f, 20 until 30)
    }

    on(s"${trigger.name}: a recreated table of the same name gets no rows of a run that knew the old one", table) { f =>
      val running = job(f, trigger, 0, slow)
      running.put(0, 0 until 10)
      f.database.execute("DROP TABLE t", "CREATE TABLE t (id BIGINT NOT NULL, word TEXT)")
      if (databases == Postgres) f.database.execute("GRANT ALL ON t TO PUBLIC")
      refused(Conditions.TargetChanged)(running.end())
      holds(f, 0 until 0)
    }

    on(s"${trigger.name}: a dropped table of progress is named, and the next start says how to continue", table) { f =>
      val running = job(f, trigger, 0)
      running.put(0, 0 until 10)
      running.end()
      f.database.execute("DROP TABLE epochal_ledger_progress")
      val error = refused(Conditions.RunFailed) {
        running.next()
        running.put(0, 10 until 20)
        running.end()
      }
      assert(error.getMessage.contains("epochal_ledger_progress was dropped"))
    }

    on(s"${trigger.name}: the tasks of a sink that was forgotten store nothing more", table) { f =>
      val running = job(f, trigger, 0)
      running.put(0, 0 until 10)
      running.end()
      Seq("epochal_ledger", "epochal_ledger_progress", "epochal_ledger_boundary", "t").foreach(name =>
        f.database.execute(s"DELETE FROM $name"))
      intercept[EpochalException] {
        running.next()
        running.put(0, 10 until 20)
        running.end()
      }
      holds(f, 0 until 0)
    }

    on(
      s"${trigger.name}: a task of a job from before the partitions were replanned, in the same run, stores nothing",
      table) { f =>
      val before = job(f, trigger, 0, slow)
      val wider = new Job(f, before.run, trigger, 0, partitions = 3)
      before.put(0, 0 until 5)
      refused(Conditions.FlushOvertaken)(before.writer(0).commit())
      wider.put(0, 0 until 5)
      wider.end()
      holds(f, 0 until 5)
    }

    on(s"${trigger.name}: replanned partitions wait for a flush that is about to commit", table) { f =>
      duringFlush(f, job(f, trigger, 0)) { before =>
        refused(Conditions.RowsOwed)(new Job(f, before.run, trigger, 0, partitions = 3))
      }
      eventually(holds(f, 0 until 5))
    }

    on(s"${trigger.name}: of two attempts of a task one stores, and the other fails", table) { f =>
      val running = job(f, trigger, 0, slow)
      val other = running.anotherAttempt(0)
      running.put(0, 0 until 5)
      (0 until 5).foreach(n => other.write(f.row(n.toLong)))
      assert(other.commit() != null)
      refused(Conditions.FlushOvertaken)(running.end())
      holds(f, 0 until 5)
    }
  }

  on("continuous: a failed commit ends the query, and its tasks store nothing more", table) { f =>
    val running = job(f, TriggerMode.Continuous, 0)
    running.put(0, 0 until 5)
    running.run.engine.foreignOffsets = true
    refused(Conditions.EpochLoggedByOther)(running.end())
    assert(running.run.engine.failure.exists(_.getMessage.contains("EPOCH_LOGGED_BY_OTHER")))
    running.next()
    running.put(0, 5 until 10)
    val error = refused(Conditions.RunFailed)(running.writer(0).commit())
    assert(error.getMessage.contains("EPOCH_LOGGED_BY_OTHER"))
    holds(f, 0 until 5)
  }

  on(
    "real-time: an attempt that finds fewer rows stored than the previous epoch had is refused, and leaves no gap",
    table) { f =>
    val first = job(f, TriggerMode.RealTime, 0)
    first.put(0, 0 until 10)
    first.end()
    logged(f, TriggerMode.RealTime, 0)
    val running = job(f, TriggerMode.RealTime, 1)
    f.database.execute(
      "DELETE FROM t",
      s"UPDATE epochal_ledger_progress SET applied = 0, digest = '${Position.newCount().hex}'")
    refused(Conditions.ProgressLost)(running.anotherAttempt(0))
    running.put(0, 10 until 12)
    refused(Conditions.FlushOvertaken)(running.end())
    holds(f, 0 until 0)
  }

  on("real-time: an epoch whose offsets another run has logged is not committed", table) { f =>
    val running = job(f, TriggerMode.RealTime, 0)
    running.put(0, 0 until 5)
    f.logOffsets(0, """{"at":"another"}""")
    refused(Conditions.EpochLoggedByOther)(running.end())
    assert(ledger(f, "last_epoch") == null)
  }

  on("options that cannot work with immediately visible rows are refused by name", table) { f =>
    f.database.execute("CREATE UNIQUE INDEX t_id ON t (id)")
    Seq(
      Map("keyColumns" -> "id", "mode" -> "upsert"),
      Map("deadLetterTable" -> "bad"),
      Map("transport" -> "staged"),
      Map("transport" -> "prepared"),
      Map("onNewQuery" -> "replace"),
      Map("onLedgerEmpty" -> "skip:3")
    ).foreach { more =>
      refused(Conditions.ModeUnsupported)(job(f, TriggerMode.RealTime, 0, more + ("sinkId" -> "sink")))
    }
    refused(Conditions.ModeUnsupported) {
      val write = f.newRun(query, Map("sinkId" -> "sink"), OutputMode.Complete, TriggerMode.Continuous).newWrite()
      write.createStreamingWriterFactory(FlushingJobs.tasks(1))
    }
  }
}
