package io.epochal.spark.sink.jdbc

import java.time.Duration

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.spark.sink.jdbc.connection.ConnectionPool
import io.epochal.spark.sink.jdbc.sqlite.SqliteDialect

final class ConnectionPoolSuite extends AnyFunSuite {

  private def use(database: TestDatabase)(body: => Any): Unit =
    ConnectionPool.use(
      JdbcOptions.read(database.options("t")).fold(throw _, identity).connection,
      SqliteDialect,
      Duration.ofSeconds(1)) { connection => assert(connection.isValid(1)); body; () }

  test("a pool is shared by those who log in alike, kept while it is used, and closed when idle") {
    ConnectionPool.sweep(Duration.ZERO)
    val before = ConnectionPool.size
    val (one, other) = (Sqlite.newDatabase(), Sqlite.newDatabase())
    try {
      use(one) {
        use(one)(())
        ConnectionPool.sweep(Duration.ZERO)
        assert(ConnectionPool.size == before + 1)
      }
      use(other)(())
      assert(ConnectionPool.size == before + 2)
      ConnectionPool.sweep(Duration.ofHours(1))
      assert(ConnectionPool.size == before + 2)
      ConnectionPool.sweep(Duration.ZERO)
      assert(ConnectionPool.size == before)
      use(one)(())
    } finally Seq(one, other).foreach(_.close())
  }

  test("an idle connection keeps no lock on the file") {
    val database = Sqlite.newDatabase()
    try {
      use(database)(())
      database.execute("CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    } finally database.close()
  }
}
