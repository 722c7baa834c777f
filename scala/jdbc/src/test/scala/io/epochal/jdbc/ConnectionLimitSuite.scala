package io.epochal.jdbc

import java.sql.{Connection, DriverManager, SQLException}

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}
import scala.util.Using

import io.epochal.core.error.Conditions
import io.epochal.jdbc.mysql.MysqlDialect
import io.epochal.jdbc.postgres.PostgresDialect

/** A server that is at its connection limit, or starting. */
final class ConnectionLimitSuite extends SinkSuite(Postgres) {

  private val role = s"limited_${ProcessHandle.current.pid}"

  /** A run of a role that may have one connection, which is in use. */
  private def whileTaken(f: JdbcSinkFixture)(body: (Connection, Map[String, String] => JdbcRun) => Any): Unit = {
    f.database.execute(
      s"DROP ROLE IF EXISTS $role",
      s"CREATE ROLE $role LOGIN CONNECTION LIMIT 1",
      s"GRANT ALL ON SCHEMA public TO $role",
      s"GRANT ALL ON t TO $role")
    val url = f.database.url.replace("user=loader", s"user=$role")
    try
      Using.resource(DriverManager.getConnection(url)) { taken =>
        body(taken, more => f.newRun(query, Map("url" -> url, "sinkId" -> "sink") ++ more)): Unit
      }
    finally f.database.execute(s"DROP OWNED BY $role", s"DROP ROLE $role")
  }

  on("a start waits until the server has a free connection", table) { f =>
    whileTaken(f) { (taken, start) =>
      val run = Future(start(Map("retry.maxAttempts" -> "10000", "retry.deadline" -> "60s")))
      assert(!run.isCompleted)
      taken.close()
      Await.result(run, 60.seconds)
    }
  }

  on("a start that gets no connection reports it, and names the server's setting", table) { f =>
    whileTaken(f) { (_, start) =>
      val error = refused(Conditions.TooManyConnections)(start(Map("retry.maxAttempts" -> "3")))
      assert(error.getMessage.contains("max_connections"))
    }
  }

  test("a start waits for a server that is starting; a wrong host or password fails at once") {
    assert(PostgresDialect.errors.opensLater(new SQLException("the database system is starting up", "57P03")))
    assert(MysqlDialect.errors.opensLater(new SQLException("Too many connections", "08004", 1040)))
    Seq("08001", "28P01", "3D000").foreach(state =>
      assert(!PostgresDialect.errors.opensLater(new SQLException("no", state))))
  }
}
