package io.epochal.jdbc

import java.nio.file.{Files, Paths}
import java.time.Duration

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}

import org.apache.logging.log4j.Level
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.jdbc.database.ConnectionPool
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.jdbc.sqlite.SqliteDialect
import io.epochal.kit.database.{ConnectionSettings, Sql}
import io.epochal.support.LoggedLines

final class ConnectionPoolSuite extends AnyFunSuite with Eventually {

  private def login(database: TestDatabase): ConnectionSettings =
    JdbcOptions.read(database.options("t")).fold(throw _, identity).connection

  private def pool(settings: ConnectionSettings): ConnectionPool =
    new ConnectionPool(settings, SqliteDialect, Duration.ofSeconds(1))

  private def use(database: TestDatabase)(body: => Any): Unit =
    pool(login(database)).use() { connection =>
      assert(connection.isValid(1))
      body
      ()
    }

  test("a pool is shared by equal logins, kept while in use, and closed when idle") {
    val databases = Seq.fill(2)(Sqlite.newDatabase())
    val Seq(one, other) = databases
    def pools: Seq[Int] = databases.map(database => ConnectionPool.count(login(database)))
    try {
      use(one) {
        use(one)(())
        ConnectionPool.sweep(Duration.ZERO)
        assert(pools == Seq(1, 0))
      }
      use(other)(())
      assert(pools == Seq(1, 1))
      ConnectionPool.sweep(Duration.ofHours(1))
      assert(pools == Seq(1, 1))
      ConnectionPool.sweep(Duration.ZERO)
      assert(pools == Seq(0, 0))
      use(one)(())
    } finally databases.foreach(_.close())
  }

  test("a pool closes without a warning, also right after it has opened a connection") {
    val database = Sqlite.newDatabase()
    val lines = LoggedLines.of(Level.WARN)((1 to 20).foreach { _ =>
      val hold = pool(login(database)).hold()
      use(database)(())
      hold.close()
    })
    database.close()
    assert(lines.tail == Nil)
  }

  test("an idle connection keeps no lock on the file") {
    val database = Sqlite.newDatabase()
    try {
      use(database)(())
      database.execute("CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    } finally database.close()
  }

  test("a JVM stays within its maximum number of connections: later callers wait for a returned one") {
    val database = Sqlite.newDatabase()
    val settings = login(database).copy(maxConnections = Some(2))
    def lend() = pool(settings).lend()
    try {
      val taken = Seq.fill(2)(lend())
      val waiting = Future(lend())
      eventually(timeout(10.seconds))(assert(ConnectionPool.waiting(settings) == 1))
      assert(!waiting.isCompleted)
      intercept[ConnectionPool.AllBusy](pool(settings).use(Some(Duration.ofMillis(1)))(_ => ()))
      taken.head.close()
      Await.result(waiting, 10.seconds).close()
      taken.last.close()
    } finally database.close()
  }

  test("connections close with the last of the queries that share them, lent ones when they are returned") {
    val database = Sqlite.newDatabase()
    val settings = login(database)
    val log = Paths.get(settings.url.stripPrefix("jdbc:sqlite:") + "-wal") // there while a connection is open
    def hold() = pool(settings).hold()
    try {
      database.execute("CREATE TABLE t (a)")
      val holds = Seq.fill(2)(hold())
      use(database)(())
      holds.head.close()
      holds.head.close()
      assert(ConnectionPool.count(settings) == 1)
      val lease = pool(settings).lend()
      holds.last.close()
      Sql.run(lease.connection, "INSERT INTO t VALUES (1)")
      assert(Files.exists(log))
      lease.close()
      eventually(timeout(10.seconds))(assert(!Files.exists(log)))
    } finally database.close()
  }
}
