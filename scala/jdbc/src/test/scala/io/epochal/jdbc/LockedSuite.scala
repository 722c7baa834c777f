package io.epochal.jdbc

import java.nio.charset.StandardCharsets.UTF_8
import java.sql.Connection
import java.util.concurrent.TimeUnit

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.Future
import scala.util.{Try, Using}

import org.scalatest.tagobjects
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions

final class PostgresLockedSuite extends Locked(Postgres)
@Slow
final class MariadbLockedSuite extends Locked(Mariadb)
@Slow
final class Mysql8LockedSuite extends Locked(Mysql8)
final class H2LockedSuite extends Locked(InProcess.H2)

/** A lock that outlasts the lock timeout. */
abstract class Locked(databases: TestDatabases) extends SinkSuite(databases) {

  on("a row of the ledger that another session keeps locked is DATABASE_LOCKED", table) { f =>
    val short = Map(
      "sinkId" -> "sink",
      "lockTimeout" -> "1s",
      "retry.maxAttempts" -> "1",
      "url" -> f.database.url.replace("LOCK_TIMEOUT=10000", "LOCK_TIMEOUT=500"))
    val run = f.newRun(query, short)
    write(f, run, 0, numbers(f, 0 until 10))
    Using.resource(f.database.connect()) { other =>
      other.setAutoCommit(false)
      Using.resource(other.createStatement())(_.execute("UPDATE epochal_ledger SET v = v WHERE sink_id = 'sink'"))
      val error = refused(Conditions.DatabaseLocked)(write(f, run, 1, numbers(f, 10 until 20)))
      assert(error.getMessage.contains("stayed locked by another session"), error.getMessage)
      other.rollback()
    }
    write(f, run, 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
  }
}

final class SqliteLockedSuite extends SinkSuite(Sqlite) {

  private def execute(connection: Connection, sql: String): Unit =
    Using.resource(connection.createStatement())(_.execute(sql)): Unit

  private def locked[A](f: JdbcSinkFixture, begin: String)(body: => A): A =
    Using.resource(f.database.connect()) { other =>
      execute(other, begin)
      try body
      finally execute(other, "ROLLBACK")
    }

  on("the checks before the start wait for a lock as long as lockTimeout says, and name its holder", table) { f =>
    locked(f, "BEGIN EXCLUSIVE") {
      val since = System.nanoTime()
      val error =
        refused(Conditions.DatabaseLocked)(f.newRun(query, Map("sinkId" -> "sink", "lockTimeout" -> "300ms")))
      assert(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - since) < 2500)
      assert(error.getMessage.contains(s"another connection of this process (${ProcessHandle.current.pid})"), error)
      assert(error.getMessage.contains("lockTimeout=2m"), error)
    }
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
  }

  test("a query starts although its database is locked for longer than the driver's own timeout", tagobjects.Slow) {
    val f = new JdbcSinkFixture(Sqlite.newDatabase())
    try {
      f.database.execute(table)
      Using.resource(f.database.connect()) { other =>
        execute(other, "BEGIN EXCLUSIVE")
        val ends = Future {
          Thread.sleep(4000)
          execute(other, "ROLLBACK")
        }
        write(f, f.newRun(query), 0, numbers(f, 0 until 10))
        scala.concurrent.Await.result(ends, scala.concurrent.duration.Duration("10 s"))
      }
      holds(f, 0 until 10)
    } finally f.close()
  }

  on("an epoch that another process locks out names the process", table) { f =>
    val run = f.newRun(query, Map("sinkId" -> "sink", "lockTimeout" -> "200ms", "retry.maxAttempts" -> "1"))
    write(f, run, 0, numbers(f, 0 until 10))
    val file = f.database.url.stripPrefix("jdbc:sqlite:")
    val script =
      s"import sqlite3, sys\nc = sqlite3.connect('$file', isolation_level=None)\nc.execute('BEGIN IMMEDIATE')\nprint('held', flush=True)\nsys.stdin.read()"
    val holder = Try(new ProcessBuilder("python3", "-c", script).start()).getOrElse(cancel("no python3"))
    try {
      assert(holder.inputReader(UTF_8).readLine() == "held")
      val error = refused(Conditions.DatabaseLocked)(write(f, run, 1, numbers(f, 10 until 20)))
      if (System.getProperty("os.name") == "Linux")
        assert(error.getMessage.contains(s"process ${holder.pid} (python"), error.getMessage)
    } finally {
      holder.destroy()
      holder.waitFor()
    }
    write(f, run, 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
  }
}
