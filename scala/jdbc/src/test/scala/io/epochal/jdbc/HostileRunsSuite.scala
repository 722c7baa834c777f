package io.epochal.jdbc

import java.nio.file.{Files, Path}

import org.apache.hadoop.fs.FSError
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String.fromString
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions
import io.epochal.core.failpoint.Failpoints
import io.epochal.jdbc.database.Database
import io.epochal.jdbc.dialect.Dialects
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.Sql
import io.epochal.testkit.Epoch

@Slow
final class MariadbHostileRunsSuite extends HostileRuns(Mariadb)
@Slow
final class Mysql8HostileRunsSuite extends HostileRuns(Mysql8)

final class SqliteHostileRunsSuite extends HostileRuns(Sqlite) {

  on("a key with a case-insensitive collation is refused") { f =>
    f.database.execute("CREATE TABLE t (id BIGINT NOT NULL, word TEXT NOT NULL COLLATE NOCASE PRIMARY KEY)")
    refused(Conditions.KeyComparisonMismatch)(f.newRun(query, Map("sinkId" -> "sink", "keyColumns" -> "word")))
    f.database.execute("DROP TABLE t", "CREATE TABLE t (id BIGINT NOT NULL, word TEXT NOT NULL PRIMARY KEY)")
    val run = f.newRun(query, Map("sinkId" -> "sink", "keyColumns" -> "word"))
    write(f, run, 0, Seq(InternalRow(5L, fromString("A")), InternalRow(3L, fromString("a"))))
    assert(f.numbers.sorted == Seq(3L, 5L))
  }
}

final class PostgresHostileRunsSuite extends HostileRuns(Postgres) {

  on("a column type that changes during a run fails the epoch, and a restart continues", table) { f =>
    val run = f.newRun(query)
    write(f, run, 0, numbers(f, 0 until 3))
    f.database.execute("ALTER TABLE t ALTER COLUMN id TYPE numeric")
    refused(Conditions.TargetChanged)(write(f, run, 1, numbers(f, 3 until 6)))
    holds(f, 0 until 3)
  }

  on("an unlogged table is refused: a crash of the server would empty it") { f =>
    f.database.execute("CREATE UNLOGGED TABLE t (id BIGINT NOT NULL, word TEXT)")
    refused(Conditions.ModeUnsupported)(f.newRun(query))
  }

  on("session state does not outlive a transaction: a pooler may switch sessions between transactions", table) { f =>
    val run = f.newRun(query)
    (0 until 8).foreach(i => write(f, run, i.toLong, numbers(f, 10 * i until 10 * i + 10)))
    val options = JdbcOptions.read(f.database.options("t")).toOption.get
    val left =
      new Database(Dialects.of(options.connection.url).get, options, () => ()).onConnection("the test")(connection =>
        Sql.query(connection, "SELECT statement FROM pg_prepared_statements")(_.getString(1)))
    assert(left.isEmpty)
  }
}

/** Interference by people, servers and other runs. */
abstract class HostileRuns(databases: TestDatabases) extends SinkSuite(databases) {

  private def append(over: String) = Map("sinkId" -> "sink", "onNewQuery" -> s"append:$over")

  private def empty(said: String) = Map("sinkId" -> "sink", "onLedgerEmpty" -> said)

  on("a column added during a run affects nothing", table) { f =>
    val run = f.newRun(query)
    write(f, run, 0, numbers(f, 0 until 3))
    f.database.execute("ALTER TABLE t ADD COLUMN more TEXT")
    write(f, run, 1, numbers(f, 3 until 6))
    holds(f, 0 until 6)
  }

  on("a renamed table is still the target of the sink that wrote it", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    f.database.execute("ALTER TABLE t RENAME TO u")
    val second = Map("sinkId" -> "second", "dbtable" -> "u")
    refused(Conditions.TargetShared)(write(f, f.newRun(otherQuery, second), 0, numbers(f, 0 until 10)))
    f.database.execute("ALTER TABLE u RENAME TO t")
    holds(f, 0 until 10)
  }

  on("a query that changes its sink id is refused, in append mode too: its last epoch would be stored twice", table) {
    f =>
      write(f, f.newRun(query, Map.empty), 0, numbers(f, 0 until 10))
      write(f, f.newRun(query, Map.empty), 1, numbers(f, 10 until 20))
      refused(Conditions.TargetShared)(write(f, f.newRun(query), 1, numbers(f, 10 until 20)))
      refused(Conditions.TargetShared)(write(f, f.newRun(query, append(query)), 1, numbers(f, 10 until 20)))
      holds(f, 0 until 20)
  }

  on("a deleted ledger row is recovered as the error instructs", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    f.database.execute("DELETE FROM epochal_ledger")
    refused(Conditions.LedgerEmpty)(write(f, f.newRun(query), 1, numbers(f, 10 until 20)))
    write(f, f.newRun(query, empty("write:1")), 1, numbers(f, 10 until 20))
    write(f, f.newRun(query), 2, numbers(f, 20 until 30))
    holds(f, 0 until 30)
  }

  on("a deleted ledger row is recovered without duplicates if the replayed epoch is stored", table) { f =>
    (0 to 1).foreach(n => write(f, f.newRun(query), n.toLong, numbers(f, 10 * n until 10 * (n + 1))))
    f.database.execute("DELETE FROM epochal_ledger")
    val error = refused(Conditions.LedgerEmpty)(write(f, f.newRun(query), 1, numbers(f, 10 until 20)))
    assert(error.getMessage.contains("onLedgerEmpty=skip:1") && error.getMessage.contains("onLedgerEmpty=write:1"))
    val run = f.newRun(query, empty("skip:1"))
    write(f, run, 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
    assert(run.metrics("outcome") == "repeated")
    write(f, run, 2, numbers(f, 20 until 30))
    write(f, f.newRun(query), 2, numbers(f, 20 until 30))
    holds(f, 0 until 30)
  }

  on("onLedgerEmpty applies to one epoch only", table) { f =>
    (0 to 2).foreach(n => write(f, f.newRun(query), n.toLong, numbers(f, 10 * n until 10 * (n + 1))))
    f.database.execute("DELETE FROM epochal_ledger")
    Seq("write:1", "skip:1", "write:3", "skip:3").foreach(said =>
      refused(Conditions.LedgerEmpty)(write(f, f.newRun(query, empty(said)), 2, numbers(f, 20 until 30))))
    write(f, f.newRun(query, empty("skip:2")), 2, numbers(f, 20 until 30))
    write(f, f.newRun(query, empty("skip:2")), 3, numbers(f, 30 until 40))
    f.database.execute("DELETE FROM epochal_ledger")
    refused(Conditions.LedgerEmpty)(write(f, f.newRun(query, empty("skip:2")), 4, numbers(f, 40 until 50)))
    holds(f, 0 until 40)
  }

  on("a skipped epoch whose response was lost is stored once", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    write(f, f.newRun(query), 1, numbers(f, 10 until 20))
    f.database.execute("DELETE FROM epochal_ledger")
    val run = f.newRun(query, empty("skip:1"))
    Failpoints.arm("commit.after=disconnect@1")
    write(f, run, 1, numbers(f, 10 until 20))
    write(f, run, 2, numbers(f, 20 until 30))
    holds(f, 0 until 30)
  }

  on("a claim whose response was lost is the same claim when retried", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    val run = f.newRun(query)
    Failpoints.arm("claim.after=fail")
    intercept[IllegalStateException](run.newWrite().createStreamingWriterFactory(() => 1))
    Failpoints.disarm()
    val generation = ledger(f, "generation")
    write(f, run, 1, numbers(f, 10 until 20))
    assert(ledger(f, "generation") == generation)
  }

  on("a run is fenced though the ledger was set back to before its claim, and its generation issued again", table) {
    f =>
      write(f, f.newRun(query), 0, numbers(f, 0 until 10))
      val zombie = f.newRun(query)
      write(f, zombie, 1, numbers(f, 10 until 20))
      f.database.execute(
        "DELETE FROM t WHERE id >= 10",
        "UPDATE epochal_ledger SET generation = 1, last_epoch = 0, run_id = 'first'")
      val successor = f.newRun(otherQuery, append(query))
      write(f, successor, 0, numbers(f, 10 until 20), offsets = "of the other")
      refused(Conditions.SinkFenced)(write(f, zombie, 1, numbers(f, 100 until 110)))
      write(f, successor, 1, numbers(f, 20 until 30), offsets = "of the other")
      holds(f, 0 until 30)
  }

  on("unreadable offsets are distinguished from missing ones", table) { f =>
    val run = f.newRun(query)
    write(f, run, 0, numbers(f, 0 until 10))
    val memory = Path.of("/proc/self/mem") // Can be opened; reading its beginning is an I/O error.
    assume(Files.exists(memory))
    Files.createSymbolicLink(f.checkpoint.resolve("offsets/1"), memory)
    val epoch = new Epoch(1, run.newWrite(), 1)
    val message = epoch.task(0, 0, numbers(f, 10 until 20))
    intercept[FSError](epoch.commit(Seq(message))) // Hadoop's error for local files.
    holds(f, 0 until 10)
  }

  on("a fatal error in a load leaves no transaction open in the pool", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    val options = JdbcOptions.read(f.database.options("t")).toOption.get
    val database = new Database(Dialects.of(f.database.url).get, options, () => ())
    intercept[OutOfMemoryError](database.attempt("a load") { transaction =>
      val target = if (databases.kind.startsWith("PostgreSQL")) "public.t" else "t"
      Sql.update(transaction.connection, s"DELETE FROM $target"): Unit
      throw new OutOfMemoryError("as in a load")
    })
    f.database.execute("DELETE FROM t WHERE id = 12345")
    write(f, f.newRun(query), 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
  }
}
