package io.epochal.jdbc

import java.sql.{Connection, SQLException}

import scala.collection.mutable
import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}
import scala.util.{Try, Using}

import org.scalatest.concurrent.Eventually
import org.scalatest.tags.Slow

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.database.Database
import io.epochal.jdbc.dialect.Dialects
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.Sql

@Slow
final class MariadbClaimSuite extends MysqlClaims(Mariadb)
@Slow
final class Mysql8ClaimSuite extends MysqlClaims(Mysql8)

/** A user without ALTER, which the documentation allows. */
abstract class MysqlClaims(databases: TestDatabases) extends SinkSuite(databases) with Eventually {

  private def limited(f: JdbcSinkFixture): Map[String, String] = {
    val schema = f.database.one("SELECT DATABASE()")
    f.database.execute(
      "CREATE USER IF NOT EXISTS 'limited'@'%'",
      s"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, CREATE TEMPORARY TABLES ON `$schema`.* TO 'limited'@'%'")
    Map("sinkId" -> "sink", "url" -> f.database.url.replace("user=root", "user=limited"))
  }

  on("a claim is one transaction for a user who may not ALTER the table", table) { f =>
    val user = limited(f)
    val older = f.newRun(query, user)
    write(f, older, 0, numbers(f, 0 until 10))
    assert(ledger(f, "target_oid") == null)
    val newer = f.newRun(query, user)
    val (claim, commit) = Using.resource(f.database.connect()) { other =>
      // A point where a claim reads after it has read the ledger.
      execute(other, "LOCK TABLES epochal_ledger_retired WRITE")
      val claim = Future(newer.newWrite().createStreamingWriterFactory(() => 2))
      eventually(timeout(10.seconds))(
        assert(
          f.database
            .query("SELECT 1 FROM information_schema.processlist WHERE state LIKE 'Waiting for table%'")
            .nonEmpty))
      val commit = Future(write(f, older, 1, numbers(f, 10 until 20)))
      Try(Await.ready(commit, 3.seconds))
      execute(other, "UNLOCK TABLES")
      (claim, commit)
    }
    Await.ready(claim, 60.seconds)
    val outcome = Await.ready(commit, 60.seconds).value.get
    write(f, newer, 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
    assert(
      outcome.failed.toOption
        .collect { case e: EpochalException => e.condition.name }
        .contains(Conditions.SinkFenced.name))
  }

  on("a connection to a server that became read-only is not used again", table) { f =>
    val options = JdbcOptions.read(f.database.options("t")).toOption.get
    val database = new Database(Dialects.of(f.database.url).get, options, () => ())
    val used = mutable.Buffer.empty[Long]
    database.attempt("a load") { transaction =>
      used ++= Sql.query(transaction.connection, "SELECT CONNECTION_ID()")(_.getLong(1))
      if (used.size < 3) throw new SQLException("read-only", "HY000", 1290)
    }
    assert(used.distinct.size == 3)
  }

  private def execute(connection: Connection, sql: String): Unit =
    Using.resource(connection.createStatement())(_.execute(sql)): Unit
}
