package io.epochal.jdbc

import org.apache.spark.sql.streaming.OutputMode
import org.scalatest.concurrent.Eventually.eventually
import org.scalatest.tags.Slow

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.TriggerMode

final class PostgresAcceptedChangesSuite extends AcceptedChangesSuite(Postgres)
@Slow
final class MariadbAcceptedChangesSuite extends AcceptedChangesSuite(Mariadb)

/** A change that the user accepts in the middle of an epoch: rows that the epoch has stored are not stored again. */
abstract class AcceptedChangesSuite(databases: TestDatabases) extends FlushingJobs(databases) {

  /** Epoch 0 has the rows 0 until 10; epoch 1 has stored 10 until 15 when the query stops. */
  private def stopped(f: JdbcSinkFixture, trigger: TriggerMode): Unit = {
    val first = job(f, trigger, 0)
    first.put(0, 0 until 10)
    first.end()
    logged(f, trigger, 0)
    first.stop()
    val second = job(f, trigger, 1)
    second.put(0, 10 until 15)
    eventually(holds(f, 0 until 15))
    second.stop()
  }

  private def continues(f: JdbcSinkFixture, trigger: TriggerMode, more: (String, String)*): Unit = {
    val running = job(f, trigger, 1, Map("sinkId" -> "sink") ++ more)
    running.put(0, 10 until 20)
    running.end()
  }

  /** As by restoring a dump, or by DROP and CREATE. */
  private def recreate(f: JdbcSinkFixture, withRows: Boolean): Unit = {
    f.database.execute("ALTER TABLE t RENAME TO left_behind", table)
    if (databases == Postgres) f.database.execute("GRANT ALL ON t TO PUBLIC")
    if (withRows) f.database.execute("INSERT INTO t SELECT * FROM left_behind")
    f.database.execute("DROP TABLE left_behind")
  }

  private def accepted(error: EpochalException, option: String): (String, String) =
    option -> s"$option=(\\w+:\\d+)".r.findFirstMatchIn(error.getMessage).getOrElse(fail(error)).group(1)

  both.foreach { trigger =>
    on(s"${trigger.name}: in a table that was restored with its rows, each row is stored once", table) { f =>
      stopped(f, trigger)
      recreate(f, withRows = true)
      val error = refused(Conditions.TargetChanged)(continues(f, trigger))
      continues(f, trigger, accepted(error, "onNewQuery"))
      holds(f, 0 until 20)
    }

    on(s"${trigger.name}: a table that was emptied by recreating it gets the rows that were not stored yet", table) {
      f =>
        stopped(f, trigger)
        recreate(f, withRows = false)
        val error = refused(Conditions.TargetChanged)(continues(f, trigger))
        continues(f, trigger, accepted(error, "onNewQuery"))
        holds(f, 15 until 20)
    }

    on(s"${trigger.name}: micro-batches into a restored table are refused while rows are pending", table) { f =>
      stopped(f, trigger)
      val known = ledger(f, "target_oid")
      recreate(f, withRows = true)
      val run = f.newRun(query, Map("sinkId" -> "sink", "onNewQuery" -> s"append:$known"))
      run.engine.batch = Some(1)
      refused(Conditions.RowsOwed)(write(f, run, 1, numbers(f, 10 until 20)))
      holds(f, 0 until 15)
    }

    on(s"${trigger.name}: a sink id that changes together with the table is refused", table) { f =>
      stopped(f, trigger)
      recreate(f, withRows = true)
      val error = refused(Conditions.TargetShared)(continues(f, trigger, "sinkId" -> "other"))
      assert(error.getMessage.contains("'sink'"))
      holds(f, 0 until 15)
    }

    on(s"${trigger.name}: after another query took the sink over, the first one continues after its last row", table) {
      f =>
        stopped(f, trigger)
        val between =
          new Job(f, f.newRun(otherQuery, append(query), OutputMode.Update, trigger), trigger, 0, partitions = 2)
        between.put(0, 100 until 103)
        eventually(assert(f.numbers.size == 18))
        between.stop()
        continues(f, trigger, append(otherQuery).toSeq: _*)
        assert(f.numbers.sorted == (0L until 20L) ++ (100L until 103L))
    }

    on(s"${trigger.name}: a deleted ledger row is recovered as the error says, with each row once", table) { f =>
      stopped(f, trigger)
      f.database.execute("DELETE FROM epochal_ledger")
      (0 to 1).foreach { _ =>
        val error = refused(Conditions.LedgerEmpty)(continues(f, trigger))
        assert(
          accepted(error, "onLedgerEmpty") == "onLedgerEmpty" -> "write:1" && !error.getMessage.contains(
            "delete these"))
      }
      refused(Conditions.LedgerEmpty)(continues(f, trigger, "onLedgerEmpty" -> "write:2"))
      continues(f, trigger, "onLedgerEmpty" -> "write:1")
      holds(f, 0 until 20)
    }

    on(s"${trigger.name}: a ledger row that is deleted in the first epoch is noticed, too", table) { f =>
      val first = job(f, trigger, 0)
      first.put(0, 0 until 5)
      eventually(holds(f, 0 until 5))
      first.stop()
      f.database.execute("DELETE FROM epochal_ledger")
      val error = refused(Conditions.LedgerEmpty)(job(f, trigger, 0))
      val again = job(f, trigger, 0, Map("sinkId" -> "sink") + accepted(error, "onLedgerEmpty"))
      again.put(0, 0 until 10)
      again.end()
      holds(f, 0 until 10)
    }

    on(s"${trigger.name}: after the loss of the whole ledger the error says to delete the open epoch's rows", table) {
      f =>
        stopped(f, trigger)
        Seq("", "_retired", "_history", "_progress", "_boundary").foreach(name =>
          f.database.execute(s"DROP TABLE epochal_ledger$name"))
        val error = refused(Conditions.LedgerEmpty)(continues(f, trigger))
        assert(error.getMessage.contains("delete these first"))
        f.database.execute("DELETE FROM t WHERE id >= 10")
        continues(f, trigger, accepted(error, "onLedgerEmpty").copy(_2 = "write:1"))
        holds(f, 0 until 20)
    }

    on(s"${trigger.name}: micro-batches do not follow on a deleted ledger row while rows are pending", table) { f =>
      stopped(f, trigger)
      f.database.execute("DELETE FROM epochal_ledger")
      val error = refused(Conditions.LedgerEmpty)(write(f, f.newRun(query), 1, numbers(f, 10 until 20)))
      val run = f.newRun(query, Map("sinkId" -> "sink") + accepted(error, "onLedgerEmpty"))
      run.engine.batch = Some(1)
      refused(Conditions.RowsOwed)(write(f, run, 1, numbers(f, 10 until 20)))
      holds(f, 0 until 15)
    }
  }

  private def append(query: String) = Map("sinkId" -> "sink", "onNewQuery" -> s"append:$query")
}
