package io.epochal.jdbc

import java.nio.file.Path
import java.sql.Connection

import scala.concurrent.duration.DurationInt
import scala.util.{Try, Using}

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.test.QuerySuite

import io.epochal.kit.access.Secret
import io.epochal.kit.database.{ConnectionSettings, LoginDataSource}
import io.epochal.support.SlowTests.slowIf

/** A password that is renewed while a query runs, as by a sidecar that keeps a token file. */
final class RenewedPasswordSuite extends QuerySuite {
  import testImplicits._

  Seq("inline", "staged").foreach { transport =>
    test(
      s"transport=$transport: connections of a running query, its tasks and its next claim use the renewed password",
      slowIf(transport == "staged"): _*) {
      withLoader { (node, password) =>
        node.run("CREATE SCHEMA loader AUTHORIZATION loader")
        val rows = MemoryStream[Int]
        def start(): StreamingQuery = rows
          .toDF()
          .toDF("id")
          .writeStream
          .format("epochal-jdbc")
          .options(
            Map(
              "url" -> node.url.replace("user=postgres", "user=loader"),
              "dbtable" -> "loader.t",
              "createTable" -> "true",
              "transport" -> transport,
              "passwordFile" -> password.toString,
              "retry.maxDelay" -> "200ms",
              "checkpointLocation" -> password.resolveSibling("checkpoint").toString))
          .start()
        val query = start()
        rows.addData(1, 2)
        query.processAllAvailable()
        node.renewPassword("loader", password, "second")
        rows.addData(3, 4)
        query.processAllAvailable()
        query.stop()
        node.renewPassword("loader", password, "third")
        val again = start()
        rows.addData(5, 6)
        again.processAllAvailable()
        again.stop()
        assert(node.text("SELECT string_agg(id::text, ',' ORDER BY id) FROM loader.t") == "1,2,3,4,5,6")
      }
    }
  }

  test("a login between the change in the database and the one of the file waits for the file") {
    withLoader { (node, password) =>
      node.run("ALTER ROLE loader PASSWORD 'second'")
      val settings = ConnectionSettings(
        node.url.replace("user=postgres", "user=loader"),
        None,
        Some(Secret.InFile("passwordFile", password.toString)),
        None,
        Map.empty)
      @volatile var login = Option.empty[Try[Connection]]
      val thread = new Thread(() => login = Some(Try(new LoginDataSource(settings, None, Map.empty).getConnection)))
      thread.start()
      eventually(timeout(30.seconds))(assert(thread.getState == Thread.State.TIMED_WAITING, login))
      PostgresNode.replacePassword(password, "second")
      thread.join()
      login.get.get.close()
    }
  }

  /** A server on which `loader` logs in with the password in a file. */
  private def withLoader(body: (PostgresNode, Path) => Unit): Unit =
    Using.resource(PostgresServer.node().fold(TestServer.missing("postgres"), identity)) { node =>
      withTempDir { directory =>
        val password = directory.toPath.resolve("password")
        node.requirePassword("loader")
        node.renewPassword("loader", password, "first")
        body(node, password)
      }
    }
}
