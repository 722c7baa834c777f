package io.epochal.jdbc

import java.sql.Connection

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}
import scala.util.{Try, Using}

import org.scalatest.concurrent.Eventually
import org.scalatest.tags.Slow

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.database.Writer
import io.epochal.jdbc.dialect.Dialects
import io.epochal.kit.database.Sql

@Slow
final class MariadbSessionsSuite extends MysqlSessionsChecks(Mariadb) with Eventually {

  on("a session in its COMMIT, which may wait for a replica, is named and not ended", table) { f =>
    write(f, f.newRun(query, sink), 0, numbers(f, 0 until 10))
    Using.Manager { use =>
      val older = use(open(f, generation = 1, row = true))
      execute(older, "UPDATE epochal_ledger SET epochs = epochs WHERE sink_id = 'sink'", "DELETE FROM t")
      val backup = use(f.database.connect())
      Seq("START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT").foreach(stage => execute(backup, s"BACKUP STAGE $stage"))
      val commit = Future(execute(older, "COMMIT"))
      eventually(timeout(20.seconds))(
        assert(f.database.query("SELECT 1 FROM information_schema.processlist WHERE info = 'COMMIT'").nonEmpty))
      val error = refused(Conditions.SinkBlocked)(claim(f, sink))
      assert(error.getMessage.contains("in COMMIT"), error.getMessage)
      execute(backup, "BACKUP STAGE END")
      Await.result(commit, 20.seconds)
    }.get
    claim(f, sink)
    holds(f, 0 until 0)
  }
}

@Slow
final class Mysql8SessionsSuite extends MysqlSessionsChecks(Mysql8)

/** Which session a waiting claim ends: one that provably belongs to an older run of the sink and blocks the claim. */
abstract class MysqlSessionsChecks(databases: TestDatabases) extends SinkSuite(databases) {

  protected val sink: Map[String, String] =
    Map("sinkId" -> "sink", "lockTimeout" -> "3s", "retry.maxAttempts" -> "2")

  on("a session of an older run that does not hold the row is left alone, and the one that holds it is named", table) {
    f =>
      val seeing = user(f, "seeing")
      f.database.execute("GRANT PROCESS ON *.* TO 'seeing'@'%'")
      if (databases != Mariadb) f.database.execute("GRANT SELECT ON performance_schema.data_lock_waits TO 'seeing'@'%'")
      write(f, f.newRun(query, seeing), 0, numbers(f, 0 until 10))
      Using.Manager { use =>
        val older = use(open(f, generation = 1, row = false, seeing("url")))
        val unrelated = use(f.database.connect())
        execute(unrelated, "START TRANSACTION", "UPDATE epochal_ledger SET v = v WHERE sink_id = 'sink'")
        val error = refused(Conditions.SinkBlocked)(claim(f, seeing))
        assert(error.getMessage.contains(s"connection ${session(unrelated)} "), error.getMessage)
        assert(!error.getMessage.contains(s"connection ${session(older)} "), error.getMessage)
        execute(unrelated, "ROLLBACK")
        claim(f, seeing)
        assert(session(older) > 0)
      }.get
  }

  on("a session from two runs ago that holds the row is ended", table) { f =>
    (0 until 3).foreach(i => write(f, f.newRun(query, sink), i.toLong, numbers(f, 10 * i until 10 * i + 10)))
    Using.resource(open(f, generation = 1, row = true)) { older =>
      claim(f, sink)
      assert(Try(session(older)).isFailure)
    }
    holds(f, 0 until 30)
  }

  on("of many sessions of an older run the one that holds the row is ended, in any order", table) { f =>
    write(f, f.newRun(query, sink), 0, numbers(f, 0 until 10))
    Using.Manager { use =>
      val others = (1 to 3).map(_ => use(open(f, generation = 1, row = false)))
      val older = use(open(f, generation = 1, row = true))
      claim(f, sink)
      assert(Try(session(older)).isFailure)
      others.foreach(one => assert(session(one) > 0))
    }.get
  }

  on("an older run's session that blocks the claim indirectly is ended", table) { f =>
    write(f, f.newRun(query, sink), 0, numbers(f, 0 until 10))
    f.database.execute("ALTER TABLE t ADD PRIMARY KEY (id)")
    Using.Manager { use =>
      val older = use(open(f, generation = 1, row = false))
      execute(older, "UPDATE t SET word = 'held' WHERE id = 3")
      val unrelated = use(f.database.connect())
      execute(unrelated, "START TRANSACTION", "UPDATE epochal_ledger SET v = v WHERE sink_id = 'sink'")
      val waits = Future {
        execute(unrelated, "SET innodb_lock_wait_timeout = 60", "UPDATE t SET word = 'mine' WHERE id = 3", "ROLLBACK")
      }
      claim(f, sink)
      assert(Try(session(older)).isFailure)
      Await.result(waits, 20.seconds)
    }.get
  }

  on("for a user who may not see locks, the older run's open transaction is ended while the claim waits", table) { f =>
    val plain = user(f, "plain")
    write(f, f.newRun(query, plain), 0, numbers(f, 0 until 10))
    Using.Manager { use =>
      val older = use(open(f, generation = 1, row = true, plain("url")))
      claim(f, plain)
      assert(Try(session(older)).isFailure)
      val others = use(open(f, generation = 2, row = true))
      val error = Try(claim(f, plain)).failed.get.asInstanceOf[EpochalException]
      assert(error.condition.name == Conditions.DatabaseLocked.name, error.getMessage)
      assert(session(others) > 0)
    }.get
  }

  /** Options for a user with the privileges that a sink needs. */
  private def user(f: JdbcSinkFixture, name: String): Map[String, String] = {
    val schema = f.database.one("SELECT DATABASE()")
    f.database.execute(
      s"DROP USER IF EXISTS '$name'@'%'",
      s"CREATE USER '$name'@'%'",
      s"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, CREATE TEMPORARY TABLES ON `$schema`.* TO '$name'@'%'"
    )
    sink + ("url" -> f.database.url.replace("user=root", s"user=$name"))
  }

  /** Runs statements in a transaction marked as one of the sink's run.
    *
    * @param row
    *   the transaction holds the sink's row
    */
  protected def open(f: JdbcSinkFixture, generation: Long, row: Boolean, url: String = ""): Connection = {
    val connection =
      if (url.isEmpty) f.database.connect() else java.sql.DriverManager.getConnection(url)
    val schema = f.database.one("SELECT DATABASE()").toString
    val dialect = Dialects.of(f.database.url).get
    dialect.begin(connection, java.time.Duration.ofSeconds(60), Some(Writer.of(schema, "sink", generation))): Unit
    if (row) Sql.query(connection, "SELECT * FROM epochal_ledger WHERE sink_id = 'sink' FOR UPDATE")(_ => ()): Unit
    connection
  }

  protected def claim(f: JdbcSinkFixture, options: Map[String, String]): Any =
    f.newRun(query, options).newWrite().createStreamingWriterFactory(() => 1)

  protected def session(connection: Connection): Long =
    Dialects.of(connection.getMetaData.getURL).get.sessions.get.current(connection)

  protected def execute(connection: Connection, sql: String*): Unit =
    Using.resource(connection.createStatement())(statement => sql.foreach(statement.execute(_)))
}
