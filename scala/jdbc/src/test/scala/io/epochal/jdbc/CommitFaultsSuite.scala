package io.epochal.jdbc

import java.nio.file.Files

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}

import org.scalatest.concurrent.Eventually.{PatienceConfig, eventually, scaled}
import org.scalatest.tags.Slow
import org.scalatest.time.{Millis, Seconds, Span}

import io.epochal.core.error.Conditions
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.kit.sink.transport.InlineMessage
import io.epochal.support.SlowTests
import io.epochal.testkit.Epoch

final class SqliteCommitFaultsSuite extends InlineFaults(Sqlite)

@Slow
final class MariadbCommitFaultsSuite extends InlineFaults(Mariadb)
@Slow
final class Mysql8CommitFaultsSuite extends InlineFaults(Mysql8)
@Slow
final class H2CommitFaultsSuite extends InlineFaults(InProcess.H2)
@Slow
final class HsqldbCommitFaultsSuite extends InlineFaults(InProcess.Hsqldb)

@Slow
final class StagedCommitFaultsSuite extends CommitFaults(PostgresBy.staged) with SlowTests {
  override protected def isSlow(test: String): Boolean = test.contains("a failure at any step")
  override protected def steps: Seq[Failpoint] = super.steps :+ Failpoint.TaskStaged :+ Failpoint.BeforeCleanup
}

final class PreparedCommitFaultsSuite extends CommitFaults(PostgresBy.prepared) with SlowTests {
  override protected def isSlow(test: String): Boolean = test.contains("a failure at any step")
  override protected def steps: Seq[Failpoint] =
    super.steps ++ Seq(Failpoint.TaskPrepared, Failpoint.BeforeCommitPrepared, Failpoint.AfterCommitPrepared)
  override protected def isVisible(stored: Int, before: Int): Boolean = Set(0, 5, 10)(stored - before)
  override protected val swallowed: (String, String) = "4" -> "5"
}

final class PostgresCommitFaultsSuite extends InlineFaults(Postgres) {

  on("a zombie that wakes before its COMMIT writes nothing", table) { f =>
    val zombie = f.newRun(query)
    write(f, zombie, 0, numbers(f, 0 until 10))
    val gate = Files.createTempFile("epochal", "gate")
    Failpoints.arm(s"ledger.before-lock=hold:$gate@1")
    val late = Future(refused(Conditions.SinkFenced)(write(f, zombie, 1, numbers(f, 10 until 20))))
    eventually(assert(Failpoints.isHeld(Failpoint.BeforeLedgerLock)))
    write(f, f.newRun(query), 1, numbers(f, 10 until 20))
    Files.delete(gate)
    Await.result(late, 30.seconds)
    holds(f, 0 until 20)
  }

  on("a commit waits for one that holds the ledger row, and sees its result", table) { f =>
    val run = f.newRun(query)
    write(f, run, 0, numbers(f, 0 until 10))
    val gate = Files.createTempFile("epochal", "gate")
    Failpoints.arm(s"commit.before=hold:$gate@1")
    val first = Future(write(f, run, 1, numbers(f, 10 until 20)))
    eventually(assert(Failpoints.isHeld(Failpoint.BeforeCommit)))
    val second = Future(write(f, run, 1, numbers(f, 10 until 20)))
    eventually(assert(f.database.one("SELECT count(*) FROM pg_locks WHERE NOT granted") != 0L))
    Files.delete(gate)
    Await.result(first.zip(second), 30.seconds)
    holds(f, 0 until 20)
  }
}

/** Failures between the tasks and the commit: rows lost on the way, a lost connection, retries. */
abstract class CommitFaults(databases: TestDatabases) extends SinkSuite(databases) {

  implicit protected val patience: PatienceConfig = PatienceConfig(scaled(Span(30, Seconds)), scaled(Span(5, Millis)))

  // In other databases a trigger can reject a row, but not drop it silently.
  protected def swallows: Boolean = databases match {
    case _: MysqlDatabases | _: InProcess => false
    case _                                => true
  }

  /** Asserts that every epoch is applied. */
  protected def steps: Seq[Failpoint] = {
    import Failpoint._
    Seq(BeforeClaim, AfterClaim, BeforeTaskCommit, AfterTaskCommit, BeforeLedgerLock, AfterLoad, LedgerWritten) ++
      Seq(BeforeCommit, AfterCommit)
  }

  /** Whether readers may see that many rows while an epoch of ten in two partitions is unfinished. */
  protected def isVisible(stored: Int, before: Int): Boolean = Set(0, 10)(stored - before)

  /** Numbers of stored and sent rows in the error when one of ten is swallowed. */
  protected val swallowed: (String, String) = "9" -> "10"

  on("a lost response to COMMIT is resolved, and the epoch is stored once", table) { f =>
    val run = f.newRun(query, Map("sinkId" -> "sink"))
    write(f, run, 0, numbers(f, 0 until 10))
    Failpoints.arm("commit.after=disconnect@1")
    write(f, run, 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
    assert(run.metrics("outcome") == "applied" && run.metrics("retries") == "1")
    write(f, run, 2, numbers(f, 20 until 30))
    holds(f, 0 until 30)
    assert(ledger(f, "epochs") == 3L)
  }

  on("a connection lost before COMMIT is retried with the whole transaction", table) { f =>
    val run = f.newRun(query, Map("sinkId" -> "sink"))
    write(f, run, 0, numbers(f, 0 until 10))
    Seq("ledger.before-lock", "rows.loaded", "commit.before").zipWithIndex.foreach { case (step, i) =>
      Failpoints.arm(s"$step=disconnect@1")
      write(f, run, i + 1L, numbers(f, 10 * (i + 1) until 10 * (i + 2)))
      holds(f, 0 until 10 * (i + 2))
    }
    assert(run.metrics("retries") == "3")
  }

  on("if the outcome of a COMMIT cannot be queried, the error reports that, and the next run resolves it", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    // A driver may throw something other than an SQLException.
    Seq("disconnect", "fail").zip(Seq(10, 20)).foreach { case (failure, first) =>
      val rows = numbers(f, first until first + 10)
      val run = f.newRun(query, Map("sinkId" -> "sink", "retry.maxAttempts" -> "2"))
      Failpoints.arm(s"commit.after=disconnect;ledger.before-lock=$failure@2")
      refused(Conditions.CommitUnknown)(write(f, run, first / 10L, rows))
      Failpoints.disarm()
      write(f, f.newRun(query), first / 10L, rows)
      holds(f, 0 until first + 10)
    }
  }

  on(
    "a failure at any step of claim and commit leaves an epoch whole or absent, and it can be written afterwards",
    table) { f =>
    steps.zipWithIndex.foreach { case (step, i) =>
      val rows = numbers(f, 10 * i until 10 * (i + 1))
      Failpoints.arm(s"${step.name}=fail")
      intercept[IllegalStateException](write(f, f.newRun(query), i.toLong, rows))
      Failpoints.disarm()
      assert(isVisible(f.numbers.size, 10 * i), step.name)
      write(f, f.newRun(query), i.toLong, rows)
      holds(f, 0 until 10 * (i + 1))
    }
  }

  if (swallows) on("rows that the database swallows fail the epoch", table) { f =>
    if (databases.kind == Sqlite.kind)
      f.database.execute("CREATE TRIGGER swallow BEFORE INSERT ON t WHEN NEW.id = 7 BEGIN SELECT RAISE(IGNORE); END")
    else
      f.database.execute(
        "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER swallow BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.id = 7) EXECUTE FUNCTION swallow()")
    val error = refused(Conditions.RowsDropped)(write(f, f.newRun(query), 0, numbers(f, 0 until 10)))
    assert(error.values("stored") -> error.values("sent") == swallowed)
    holds(f, 0 until 0)
  }
}

/** Failures where rows travel in messages. */
abstract class InlineFaults(databases: TestDatabases) extends CommitFaults(databases) {

  on("a message that was altered in transit is refused", table) { f =>
    f.logOffsets(0, "{}")
    val epoch = new Epoch(0, f.newRun(query).newWrite(), 1)
    val message = epoch.task(0, 0, numbers(f, 0 until 10)).asInstanceOf[InlineMessage]
    message.chunks(0)(7) = (message.chunks(0)(7) + 1).toByte
    refused(Conditions.CommitMessageCorrupted)(epoch.commit(Seq(message)))
    holds(f, 0 until 0)
  }

  on("an epoch larger than the inline limit is refused, in the task or in the driver", table) { f =>
    val run = f.newRun(query, Map("sinkId" -> "sink", "inlineMaxBytes" -> "20k", "transport" -> "inline"))
    f.logOffsets(0, "{}")
    val epoch = new Epoch(0, run.newWrite(), 2)
    refused(Conditions.EpochTooLarge)(epoch.task(0, 0, numbers(f, 0 until 2000)))
    val half = numbers(f, 0 until 400)
    refused(Conditions.EpochTooLarge)(epoch.commit((0 until 3).map(p => epoch.task(p, p.toLong, half))))
    holds(f, 0 until 0)
  }

  on("a database error is reported once, with its SQLSTATE, and not retried", table) { f =>
    f.database.execute("CREATE UNIQUE INDEX t_id ON t (id)")
    val run = f.newRun(query, Map("sinkId" -> "sink"))
    val error = refused(Conditions.DatabaseError)(write(f, run, 0, numbers(f, 0 until 10) ++ numbers(f, 5 until 6)))
    assert(error.values("step") == "the commit of epoch 0")
    assert(run.metrics("retries") == "0")
    holds(f, 0 until 0)
  }
}
