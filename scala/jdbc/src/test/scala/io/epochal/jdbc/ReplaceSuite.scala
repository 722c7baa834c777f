package io.epochal.jdbc

import java.nio.file.Files
import java.util.UUID

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}

import org.apache.spark.sql.streaming.OutputMode
import org.scalatest.concurrent.Eventually.{PatienceConfig, eventually, scaled}
import org.scalatest.tags.Slow
import org.scalatest.time.{Millis, Seconds, Span}

import io.epochal.core.error.Conditions
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.support.SlowTests
import io.epochal.testkit.Epoch

final class SqliteReplaceSuite extends Replaces(Sqlite)

final class PostgresReplaceSuite extends Replaces(Postgres) with SlowTests {
  override protected def isSlow(test: String): Boolean =
    Seq("the restarted new query replaces once", "a failure before the COMMIT, at any step").exists(test.contains(_))
}
@Slow
final class StagedReplaceSuite extends Replaces(PostgresBy.staged) {
  override protected def steps: Seq[Failpoint] = super.steps :+ Failpoint.TaskStaged :+ Failpoint.BeforeCleanup
}
@Slow
final class MariadbReplaceSuite extends Replaces(Mariadb)
@Slow
final class Mysql8ReplaceSuite extends Replaces(Mysql8)
@Slow
final class H2ReplaceSuite extends Replaces(InProcess.H2)

/** `onNewQuery=replace`: the first epoch of a query empties the table, in its own transaction. */
abstract class Replaces(databases: TestDatabases) extends SinkSuite(databases) {

  implicit private val patience: PatienceConfig = PatienceConfig(scaled(Span(30, Seconds)), scaled(Span(5, Millis)))

  private val replace = Map("sinkId" -> "sink", "onNewQuery" -> "replace")
  private val keyed = "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, word VARCHAR(50))"

  /** Before the COMMIT of an epoch. */
  protected def steps: Seq[Failpoint] = {
    import Failpoint._
    Seq(BeforeClaim, AfterClaim, BeforeTaskCommit, AfterTaskCommit, BeforeLedgerLock, AfterLoad) ++
      Seq(LedgerWritten, BeforeCommit)
  }

  /** Ten rows in each of two epochs, of the first query. */
  private def begun(f: JdbcSinkFixture): Unit = {
    val run = f.newRun(query, replace)
    write(f, run, 0, numbers(f, 0 until 10))
    write(f, run, 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
  }

  on("a new query's first epoch replaces all rows and restarts the ledger; later epochs add rows", keyed) { f =>
    begun(f)
    val run = f.newRun(otherQuery, replace)
    write(f, run, 0, numbers(f, 5 until 25))
    holds(f, 5 until 25)
    assert(ledger(f, "query_id") == otherQuery && ledger(f, "last_epoch") == 0L)
    write(f, run, 1, numbers(f, 25 until 30))
    write(f, run, 1, numbers(f, 25 until 30))
    holds(f, 5 until 30)
    val retired = f.database.query("SELECT query_id, last_epoch FROM epochal_ledger_retired")
    assert(retired.map(_.map(_.toString)) == Seq(Seq(query, "1")))
    val history = f.database.query("SELECT number, epoch FROM epochal_ledger_history ORDER BY number")
    assert(history.map(_.map(_.toString.toInt)) == Seq(Seq(1, 0), Seq(2, 1), Seq(3, 0), Seq(4, 1)))
  }

  on("a replay of the first epoch, in the run and after a restart, does not empty the table again", table) { f =>
    begun(f)
    val run = f.newRun(otherQuery, replace)
    write(f, run, 0, numbers(f, 50 until 60))
    write(f, run, 0, numbers(f, 50 until 60))
    f.database.execute("INSERT INTO t VALUES (60, 'by another writer')")
    write(f, f.newRun(otherQuery, replace), 0, numbers(f, 50 until 60))
    holds(f, 50 until 61)
    refused(Conditions.EpochOffsetsChanged)(
      write(f, f.newRun(otherQuery, replace), 0, numbers(f, 50 until 60), offsets = "other"))
    holds(f, 50 until 61)
  }

  on("the very first query empties the table as well", table, "INSERT INTO t VALUES (99, 'before')") { f =>
    begun(f)
  }

  on(
    "a failure before the COMMIT, at any step, leaves the old rows to the old query, which continues; then the new one replaces",
    table) { f =>
    begun(f)
    steps.zipWithIndex.foreach { case (step, i) =>
      val first = numbers(f, 100 until 110)
      Failpoints.arm(s"${step.name}=fail")
      intercept[IllegalStateException](write(f, f.newRun(otherQuery, replace), 0, first))
      Failpoints.disarm()
      holds(f, 0 until 10 * (i + 2))
      assert(ledger(f, "query_id") == query && ledger(f, "last_epoch") == i + 1L, step.name)
      write(f, f.newRun(query, replace), i + 1L, numbers(f, 10 * (i + 1) until 10 * (i + 2)))
      write(f, f.newRun(query, replace), i + 2L, numbers(f, 10 * (i + 2) until 10 * (i + 3)))
      holds(f, 0 until 10 * (i + 3))
    }
    write(f, f.newRun(otherQuery, replace), 0, numbers(f, 100 until 110))
    holds(f, 100 until 110)
  }

  on("after a failure before the COMMIT, at any step, the restarted new query replaces once", table) { f =>
    begun(f)
    steps.foreach { step =>
      val next = UUID.randomUUID.toString
      Failpoints.arm(s"${step.name}=fail")
      intercept[IllegalStateException](write(f, f.newRun(next, replace), 0, numbers(f, 100 until 110)))
      Failpoints.disarm()
      val run = f.newRun(next, replace)
      write(f, run, 0, numbers(f, 100 until 110))
      write(f, run, 1, numbers(f, 110 until 120))
      holds(f, 100 until 120)
      assert(ledger(f, "query_id") == next, step.name)
    }
  }

  on("if a run fails after the COMMIT, the new rows are stored, and the replay keeps them", table) { f =>
    begun(f)
    Failpoints.arm("commit.after=fail")
    intercept[IllegalStateException](write(f, f.newRun(otherQuery, replace), 0, numbers(f, 100 until 110)))
    Failpoints.disarm()
    holds(f, 100 until 110)
    val run = f.newRun(otherQuery, replace)
    write(f, run, 0, numbers(f, 100 until 110))
    write(f, run, 1, numbers(f, 110 until 120))
    holds(f, 100 until 120)
  }

  on("a lost response to the COMMIT is resolved, also if the old query's first epoch was the same", table) { f =>
    write(f, f.newRun(query, replace), 0, numbers(f, 0 until 10))
    f.database.execute("INSERT INTO t VALUES (99, 'by another writer')")
    Failpoints.arm("commit.before=disconnect@1;commit.after=disconnect@1")
    val run = f.newRun(otherQuery, replace)
    write(f, run, 0, numbers(f, 0 until 10))
    Failpoints.disarm()
    assert(ledger(f, "query_id") == otherQuery && run.metrics("retries") == "2")
    holds(f, 0 until 10)
  }

  on("of two queries that replace each other, the last to commit its first epoch before it was fenced wins", table) {
    f =>
      begun(f)
      val old = f.newRun(query, replace)
      write(f, old, 1, numbers(f, 10 until 20))
      val late = f.newRun(otherQuery, replace)
      f.logOffsets(0, "{}")
      val epoch = new Epoch(0, late.newWrite(), 1)
      val message = epoch.task(0, 0, numbers(f, 100 until 110))
      refused(Conditions.SinkFenced)(write(f, old, 2, numbers(f, 20 until 30)))
      val back = f.newRun(query, replace)
      write(f, back, 2, numbers(f, 20 until 30))
      refused(Conditions.SinkFenced)(epoch.commit(Seq(message)))
      holds(f, 0 until 30)
      write(f, f.newRun(otherQuery, replace), 0, numbers(f, 100 until 110))
      refused(Conditions.SinkFenced)(write(f, back, 3, numbers(f, 30 until 40)))
      holds(f, 100 until 110)
  }

  on("a replaced query is refused, without a change to the current one; so is one with earlier epochs", table) { f =>
    begun(f)
    val run = f.newRun(otherQuery, replace)
    write(f, run, 0, numbers(f, 100 until 110))
    refused(Conditions.ReplacementIncomplete)(write(f, f.newRun(query, replace), 2, numbers(f, 20 until 30)))
    refused(Conditions.QueryChanged)(write(f, f.newRun(query), 2, numbers(f, 20 until 30)))
    write(f, run, 1, numbers(f, 110 until 120))
    val third = "5b3c9f0e-0000-4000-8000-00000000000c"
    refused(Conditions.ReplacementIncomplete)(write(f, f.newRun(third, replace), 4, numbers(f, 20 until 30)))
    write(f, f.newRun(otherQuery, replace), 2, numbers(f, 120 until 130))
    holds(f, 100 until 130)
  }

  on("readers see the old rows or the new ones", table) { f =>
    begun(f)
    val gate = Files.createTempFile("epochal", "gate")
    Failpoints.arm(s"commit.before=hold:$gate@1")
    val late = Future(write(f, f.newRun(otherQuery, replace), 0, numbers(f, 100 until 110)))
    eventually(assert(Failpoints.isHeld(Failpoint.BeforeCommit)))
    try holds(f, 0 until 20)
    finally Files.delete(gate)
    Await.result(late, 30.seconds)
    holds(f, 100 until 110)
  }

  on("rows of another sink on the table are not deleted", table) { f =>
    begun(f)
    val beside = Map("sinkId" -> "beside", "onNewQuery" -> "append:sink")
    write(f, f.newRun(otherQuery, beside), 0, numbers(f, 20 until 30))
    val third = "5b3c9f0e-0000-4000-8000-00000000000c"
    refused(Conditions.TargetShared)(write(f, f.newRun(third, replace), 0, numbers(f, 100 until 110)))
    write(f, f.newRun(query, replace), 2, numbers(f, 30 until 40))
    holds(f, 0 until 40)
  }

  on("a recreated table is refilled; another table is refused", table) { f =>
    begun(f)
    f.database.execute("DROP TABLE t", table, "INSERT INTO t VALUES (99, 'in the new table')")
    val run = f.newRun(otherQuery, replace)
    write(f, run, 0, numbers(f, 0 until 10))
    write(f, run, 1, numbers(f, 10 until 15))
    holds(f, 0 until 15)
    f.database.execute("CREATE TABLE u (id BIGINT NOT NULL, word TEXT)".replace("TEXT", "VARCHAR(50)"))
    val third = "5b3c9f0e-0000-4000-8000-00000000000c"
    refused(Conditions.TargetChanged)(
      write(f, f.newRun(third, replace + ("dbtable" -> "u")), 0, numbers(f, 0 until 10)))
  }

  on("output mode complete replaces the rows with each epoch, and a batch is refused", table) { f =>
    begun(f)
    val run = f.newRun(otherQuery, replace, OutputMode.Complete)
    write(f, run, 0, numbers(f, 100 until 110))
    write(f, run, 1, numbers(f, 110 until 120))
    holds(f, 110 until 120)
    val batch = f.newRun(query, Map("onNewQuery" -> "replace")).newBatchWrite()
    refused(Conditions.ModeUnsupported)(batch.createBatchWriterFactory(() => 1))
  }

  // The generic dialect does not support keys.
  if (!databases.isInstanceOf[InProcess]) on("keyed rows are replaced", keyed) { f =>
    val upsert = replace + ("keyColumns" -> "id")
    write(f, f.newRun(query, upsert), 0, numbers(f, 0 until 20))
    val run = f.newRun(otherQuery, upsert)
    write(f, run, 0, numbers(f, 5 until 10))
    write(f, run, 1, numbers(f, 7 until 15))
    holds(f, 5 until 15)
  }

  on("prepared transactions are refused by name", table) { f =>
    refused(Conditions.OptionConflict)(f.newRun(query, replace + ("transport" -> "prepared")))
  }
}
