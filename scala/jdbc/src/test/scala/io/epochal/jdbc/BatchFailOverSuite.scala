package io.epochal.jdbc

import java.nio.file.Files
import java.sql.DriverManager

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}
import scala.util.Using

import org.scalatest.concurrent.Eventually.{PatienceConfig, eventually, scaled}
import org.scalatest.tags.Slow
import org.scalatest.time.{Millis, Seconds, Span}

import io.epochal.core.error.Conditions
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.support.NetworkProxy

/** A batch write that lost the response to its COMMIT can be identified only by its transaction's id. */
@Slow
final class BatchFailOverSuite extends SinkSuite(Postgres) {
  implicit private val patience: PatienceConfig = PatienceConfig(scaled(Span(30, Seconds)), scaled(Span(5, Millis)))
  private val Place = "(//127\\.0\\.0\\.1:)(\\d+)(/.*)".r.unanchored

  on("a lost response to COMMIT is resolved by the transaction's id, and the rows are stored once", table) { f =>
    losing(f)(_ => ())
    holds(f, 0 until 10)
  }

  on("a transaction id is not trusted on another server, which has issued it to a different transaction", table) { f =>
    val other = PostgresServer.oldest.fold(cancel(_), identity)
    val Place(_, port, _) = other: @unchecked
    val name = f.database.url.replaceAll(".*/([^/?]+)\\?.*", "$1")
    val otherUrl = other.replace("/postgres?", s"/$name?")
    execute(other, s"CREATE DATABASE $name", LoaderRights.Role)
    try {
      execute(otherUrl, table)
      val next =
        f.database.one("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").asInstanceOf[Number].longValue
      execute(
        otherUrl,
        "SET synchronous_commit = off",
        s"""DO 'BEGIN WHILE pg_current_xact_id()::text::bigint < ${next + 20} LOOP COMMIT; END LOOP; END'""")
      val error = refused(Conditions.CommitUnknown)(losing(f)(_.switchTo(port.toInt)))
      assert(error.values("reason").contains("another server"))
      holds(f, 0 until 10)
    } finally {
      io.epochal.jdbc.database.ConnectionPool.sweep(java.time.Duration.ZERO)
      execute(other, s"DROP DATABASE $name WITH (FORCE)")
    }
  }

  /** Writes ten rows through a proxy, runs something before the COMMIT, and drops its response. */
  private def losing(f: JdbcSinkFixture)(meanwhile: NetworkProxy => Unit): Unit = {
    val Place(_, port, _) = f.database.url: @unchecked
    Using.resource(new NetworkProxy(port.toInt)) { proxy =>
      val write = f.newRun(query, Map("url" -> proxy.url(f.database.url))).newBatchWrite()
      val writer = write.createBatchWriterFactory(() => 1).createWriter(0, 0L)
      numbers(f, 0 until 10).foreach(writer.write)
      val message = writer.commit()
      writer.close()
      val gate = Files.createTempFile("epochal", "gate")
      Failpoints.arm(s"commit.before=hold:$gate@1;commit.after=disconnect@1")
      val committing = Future(write.commit(Array(message)))
      eventually(assert(Failpoints.isHeld(Failpoint.BeforeCommit)))
      meanwhile(proxy)
      Files.delete(gate)
      Await.result(committing, 30.seconds)
    }
  }

  private def execute(url: String, sql: String*): Unit = Using.resource(DriverManager.getConnection(url))(connection =>
    Using.resource(connection.createStatement())(statement => sql.foreach(statement.execute(_))))
}
