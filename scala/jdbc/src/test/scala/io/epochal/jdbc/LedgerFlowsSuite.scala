package io.epochal.jdbc

import java.util.UUID

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}

import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions
import io.epochal.core.ledger.TriggerMode
import io.epochal.testkit.Epoch

final class SqliteLedgerFlowsSuite extends LedgerFlows(Sqlite)

@Slow
final class MariadbLedgerFlowsSuite extends LedgerFlows(Mariadb)
@Slow
final class Mysql8LedgerFlowsSuite extends LedgerFlows(Mysql8)
@Slow
final class H2LedgerFlowsSuite extends LedgerFlows(InProcess.H2)
@Slow
final class HsqldbLedgerFlowsSuite extends LedgerFlows(InProcess.Hsqldb)

final class PostgresLedgerFlowsSuite extends LedgerFlows(Postgres) {

  on("the database's own isolation level has no effect", "CREATE TABLE unused (a INT)") { f =>
    val database = f.database.one("SELECT current_database()")
    f.database.execute(s"ALTER DATABASE $database SET default_transaction_isolation = 'serializable'")
    startTogether(f)
  }
}

/** Who may write, and which epoch is whose. */
abstract class LedgerFlows(databases: TestDatabases) extends SinkSuite(databases) {

  private def append(over: Any) = Map("sinkId" -> "sink", "onNewQuery" -> s"append:$over")

  on("the ledger records the last epoch, and the history every epoch", table) { f =>
    val run = f.newRun(query)
    write(f, run, 0, numbers(f, 0 until 10))
    write(f, run, 1, numbers(f, 10 until 13))
    assert(ledger(f, "last_epoch") == 1L)
    // A reserved word in some databases.
    val rows = if (databases.isInstanceOf[MysqlDatabases]) "`rows`" else "rows"
    assert(ledger(f, rows) == 3L)
    assert(ledger(f, "total_rows") == 13L)
    assert(ledger(f, "epochs") == 2L)
    assert(ledger(f, "query_id") == query)
    assert(ledger(f, "trigger_mode") == "micro-batch")
    assert(ledger(f, "v") == 1L)
    val history = f.database.query(s"SELECT number, epoch, $rows FROM epochal_ledger_history ORDER BY number")
    assert(history.map(_.map(_.toString)) == Seq(Seq("1", "0", "10"), Seq("2", "1", "3")))
  }

  on("the digest is independent of order and partitions", table) { f =>
    val run = f.newRun(query)
    write(f, run, 0, numbers(f, 0 until 10))
    val first = ledger(f, "digest")
    write(f, run, 1, numbers(f, 0 until 10).reverse)
    assert(ledger(f, "digest") == first)
    write(f, run, 2, numbers(f, 1 until 11))
    assert(ledger(f, "digest") != first)
  }

  on("a gap, a rewound checkpoint and changed offsets are refused by name", table) { f =>
    val run = f.newRun(query)
    refused(Conditions.LedgerEmpty)(write(f, run, 3, numbers(f, 0 until 10)))
    write(f, run, 0, numbers(f, 0 until 10))
    write(f, run, 1, numbers(f, 10 until 20))
    refused(Conditions.EpochGap)(write(f, run, 3, numbers(f, 20 until 30)))
    refused(Conditions.EpochRegressed)(write(f, run, 0, numbers(f, 0 until 10)))
    refused(Conditions.EpochOffsetsChanged)(write(f, run, 1, numbers(f, 10 until 20), offsets = "other"))
    holds(f, 0 until 20)
  }

  on(
    "a run that another driver overtook in the same checkpoint names that driver's run, and continues after it",
    table) { f =>
    val (first, second) = (f.newRun(query), f.newRun(query))
    (0 to 2).foreach(epoch => write(f, first, epoch.toLong, numbers(f, epoch * 10 until epoch * 10 + 10)))
    val run = ledger(f, "run_id")
    val error = refused(Conditions.EpochRegressed)(write(f, second, 1, numbers(f, 10 until 20)))
    assert(error.getMessage.contains(s"Another driver (run $run, generation 1) runs this query"))
    refused(Conditions.SinkFenced)(write(f, first, 3, numbers(f, 30 until 40)))
    write(f, f.newRun(query), 3, numbers(f, 30 until 40))
    holds(f, 0 until 40)
    java.nio.file.Files.delete(f.checkpoint.resolve("offsets/3"))
    val rewound = refused(Conditions.EpochRegressed)(write(f, f.newRun(query), 2, numbers(f, 20 until 30)))
    assert(rewound.getMessage.contains("The checkpoint was rewound"))
  }

  on("a replay with other rows for the same offsets is counted", table) { f =>
    val run = f.newRun(query)
    write(f, run, 0, numbers(f, 0 until 10))
    write(f, run, 0, numbers(f, 5 until 15))
    holds(f, 0 until 10)
    assert(run.asInstanceOf[JdbcRun].metrics("differingRepetitions") == "1")
    assert(run.asInstanceOf[JdbcRun].metrics("outcome") == "repeated")
  }

  on("without offsets a replayed epoch with other rows is refused, or skipped if the options say so", table) { f =>
    def again(run: JdbcRun, rows: Range): Unit = {
      val epoch = new Epoch(0, run.newWrite(), 1)
      epoch.commit(Seq(epoch.task(0, 0, numbers(f, rows))))
    }
    val run = f.newRun(query, Map("sinkId" -> "sink"))
    again(run, 0 until 10)
    again(run, 0 until 10)
    refused(Conditions.EpochContentChanged)(again(run, 5 until 15))
    again(f.newRun(query, Map("sinkId" -> "sink", "onEpochMismatch" -> "keep")), 5 until 15)
    holds(f, 0 until 10)
  }

  on("without a sinkId the query's id is the sink's", table) { f =>
    write(f, f.newRun(query, Map.empty), 0, numbers(f, 0 until 10))
    assert(ledger(f, "query_id", query) == query)
  }

  on("a query takes a sink over, and the one that returns resumes where it was", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    write(f, f.newRun(query), 1, numbers(f, 10 until 20))
    refused(Conditions.QueryChanged)(write(f, f.newRun(otherQuery), 0, numbers(f, 20 until 30)))
    refused(Conditions.QueryChanged)(write(f, f.newRun(otherQuery, append("another")), 0, numbers(f, 20 until 30)))
    write(f, f.newRun(otherQuery, append(query)), 0, numbers(f, 20 until 30), offsets = "of the other")
    assert(ledger(f, "last_epoch") == 0L)
    val back = f.newRun(query, append(otherQuery))
    write(f, back, 1, numbers(f, 10 until 20))
    holds(f, 0 until 30)
    write(f, back, 2, numbers(f, 30 until 40))
    holds(f, 0 until 40)
    val other = f.newRun(otherQuery, append(query))
    write(f, other, 0, numbers(f, 20 until 30), offsets = "of the other")
    refused(Conditions.EpochGap)(write(f, other, 2, numbers(f, 50 until 60)))
    holds(f, 0 until 40)
    assert(ledger(f, "generation") == 5L)
  }

  on("a second sink on one table is refused, unless allowed", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    val error = refused(Conditions.TargetShared)(
      write(f, f.newRun(otherQuery, Map("sinkId" -> "second")), 0, numbers(f, 10 until 20)))
    assert(error.getMessage.contains("'sink'"))
    holds(f, 0 until 10)
    val second = f.newRun(otherQuery, Map("sinkId" -> "second", "onNewQuery" -> "append:sink"))
    write(f, second, 0, numbers(f, 10 until 20))
    holds(f, 0 until 20)
  }

  on("a permission left in a job does not apply to the next lost checkpoint", table) { f =>
    val third = "5b3c9f0e-0000-4000-8000-00000000000c"
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    val left = append(query)
    write(f, f.newRun(otherQuery, left), 0, numbers(f, 10 until 20), offsets = "of the other")
    write(f, f.newRun(otherQuery, left), 1, numbers(f, 20 until 30), offsets = "of the other")
    val error = refused(Conditions.QueryChanged)(write(f, f.newRun(third, left), 0, numbers(f, 10 until 20)))
    assert(error.getMessage.contains(s"onNewQuery=append:$otherQuery"))
    holds(f, 0 until 30)
  }

  on("without a sink id, too, a permission does not apply to the next lost checkpoint", table) { f =>
    write(f, f.newRun(query, Map("sinkId" -> "first")), 0, numbers(f, 0 until 10))
    val left = Map("onNewQuery" -> "append:first")
    write(f, f.newRun(query + "1", left), 0, numbers(f, 10 until 20))
    val error = refused(Conditions.TargetShared)(write(f, f.newRun(query + "2", left), 0, numbers(f, 10 until 20)))
    assert(error.getMessage.contains(s"onNewQuery=append:${query}1,first"))
    holds(f, 0 until 20)
  }

  on("a sink that moves to another table is refused", table, "CREATE TABLE u (id BIGINT, word TEXT)") { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    refused(Conditions.TargetChanged)(
      write(f, f.newRun(query, Map("sinkId" -> "sink", "dbtable" -> "u")), 1, numbers(f, 10 until 20)))
    assert(f.database.query("SELECT * FROM u").isEmpty)
  }

  // The generic dialect cannot identify tables.
  private val identifies = !databases.isInstanceOf[InProcess]

  if (identifies) on("a recreated table is another target", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    val known = ledger(f, "target_oid")
    f.database.execute("DROP TABLE t", table)
    val error = refused(Conditions.TargetChanged)(write(f, f.newRun(query), 1, numbers(f, 10 until 20)))
    assert(error.getMessage.contains(s"onNewQuery=append:$known"))
    holds(f, 0 until 0)
    write(f, f.newRun(query, append(known)), 1, numbers(f, 10 until 20))
    holds(f, 10 until 20)
    f.database.execute("DROP TABLE t", table)
    refused(Conditions.TargetChanged)(write(f, f.newRun(query, append(known)), 2, numbers(f, 20 until 30)))
  }

  if (identifies) on("a table recreated while a run writes is another target", table) { f =>
    val run = f.newRun(query)
    write(f, run, 0, numbers(f, 0 until 10))
    f.database.execute("DROP TABLE t", table)
    refused(Conditions.TargetChanged)(write(f, run, 1, numbers(f, 10 until 20)))
    holds(f, 0 until 0)
  }

  on("a replaced run is fenced, and stays so", table) { f =>
    val zombie = f.newRun(query)
    write(f, zombie, 0, numbers(f, 0 until 10))
    val successor = f.newRun(query)
    write(f, successor, 1, numbers(f, 10 until 20))
    (0 to 2).foreach(_ => refused(Conditions.SinkFenced)(write(f, zombie, 2, numbers(f, 20 until 30))))
    write(f, successor, 2, numbers(f, 20 until 30))
    holds(f, 0 until 30)
  }

  on("a failed claim leaves nothing behind") { f =>
    refused(Conditions.TableMissing)(f.newRun(query))
    val run = f.newRun(query, Map("sinkId" -> "sink", "createTable" -> "true"))
    f.database.execute("CREATE TABLE t (id BIGINT NOT NULL, other TEXT NOT NULL)")
    refused(Conditions.ColumnMissing)(run.newWrite().createStreamingWriterFactory(() => 1))
    assert(
      intercept[java.sql.SQLException](f.database.query("SELECT * FROM epochal_ledger")).getMessage
        .toLowerCase(java.util.Locale.ROOT)
        .contains("epochal_ledger"))
  }

  // Other databases fold unquoted names to upper case, while the query's columns are in lower case.
  private val ownCase = databases != InProcess.Hsqldb

  if (ownCase) on("a missing table is created for the query's rows") { f =>
    val keys = if (databases.isInstanceOf[InProcess]) Map.empty[String, String] else Map("keyColumns" -> "id")
    val options = Map("sinkId" -> "sink", "createTable" -> "true") ++ keys
    val run = f.newRun(query, options)
    write(f, run, 0, numbers(f, 0 until 10))
    holds(f, 0 until 10)
    write(f, f.newRun(query, options), 1, numbers(f, (if (keys.isEmpty) 10 else 5) until 15))
    holds(f, 0 until 15)
  }

  if (ownCase) on("sinks that start at the same time create the tables once, and each gets its row")(startTogether(_))

  protected def startTogether(f: JdbcSinkFixture): Unit = {
    val runs = (0 until 6).map { n =>
      val options = Map(
        "sinkId" -> s"sink$n",
        "createTable" -> "true",
        "onNewQuery" -> (0 to 5).map(i => s"sink$i").mkString("append:", ",", ""))
      f.newRun(UUID.randomUUID.toString, options)
    }
    val epochs = runs.zipWithIndex.map { case (run, n) =>
      Future {
        val epoch = new Epoch(0, run.newWrite(), 1)
        epoch.commit(Seq(epoch.task(0, 0, numbers(f, 10 * n until 10 * (n + 1)))))
      }
    }
    Await.result(Future.sequence(epochs), 60.seconds)
    holds(f, 0 until 60)
    assert(
      f.database.one("SELECT count(*) FROM epochal_ledger WHERE generation = 1 AND last_epoch = 0").toString == "6")
    ()
  }

  on("a ledger written by a newer release is refused", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    f.database.execute("UPDATE epochal_ledger SET v = 2")
    refused(Conditions.LedgerVersionUnsupported)(write(f, f.newRun(query), 1, numbers(f, 10 until 20)))
  }

  on("a ledger row that is deleted during a run is detected", table) { f =>
    val run = f.newRun(query)
    write(f, run, 0, numbers(f, 0 until 10))
    f.database.execute("DELETE FROM epochal_ledger")
    refused(Conditions.LedgerEmpty)(write(f, run, 1, numbers(f, 10 until 20)))
    holds(f, 0 until 10)
  }

  if (!Seq(Postgres, Mariadb, Mysql8).contains(databases))
    on("triggers without a fixed epoch are refused by name", table) { f =>
      Seq(TriggerMode.Continuous, TriggerMode.RealTime).foreach { mode =>
        val error = refused(Conditions.TriggerUnsupported)(
          f.newRun(query, Map("sinkId" -> "sink"), trigger = mode).newWrite().createStreamingWriterFactory(() => 1))
        assert(error.getMessage.contains(mode.name))
      }
    }

  on("the history keeps the latest epochs only", table) { f =>
    val run = f.newRun(query)
    write(f, run, 0, numbers(f, 0 until 1))
    // Simulates a thousand epochs.
    f.database.execute(
      "UPDATE epochal_ledger SET epochs = 1099, last_epoch = 1099",
      "UPDATE epochal_ledger_history SET number = 99")
    write(f, run, 1100, numbers(f, 1 until 2))
    val kept = f.database.query("SELECT number FROM epochal_ledger_history").flatten.map(_.toString)
    assert(kept == Seq("1100"))
  }
}
