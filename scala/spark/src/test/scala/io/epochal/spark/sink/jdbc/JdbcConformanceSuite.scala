package io.epochal.spark.sink.jdbc

import io.epochal.testkit.{SinkChecks, SinkFixture}

/** What every exactly-once sink must do, on SQLite. */
final class SqliteConformanceSuite extends SinkChecks {
  override def sinkName: String = s"${JdbcOptions.Format} on ${Sqlite.kind}"
  override def newFixture(): SinkFixture = JdbcConformance.fixture(Sqlite)
}

/** The same on PostgreSQL. */
final class PostgresConformanceSuite extends SinkChecks {
  override def sinkName: String = s"${JdbcOptions.Format} on ${Postgres.kind}"
  override def newFixture(): SinkFixture = JdbcConformance.fixture(Postgres)
}

/** The same by staging tables. */
final class StagedConformanceSuite extends SinkChecks {
  override def sinkName: String = s"${JdbcOptions.Format} on ${PostgresBy.staged.kind}"
  override def newFixture(): SinkFixture = JdbcConformance.fixture(PostgresBy.staged)
}

/** The same by prepared transactions. */
final class PreparedConformanceSuite extends SinkChecks {
  override def sinkName: String = s"${JdbcOptions.Format} on ${PostgresBy.prepared.kind}"
  override def newFixture(): SinkFixture = JdbcConformance.fixture(PostgresBy.prepared)
}

object JdbcConformance {
  def fixture(databases: TestDatabases): SinkFixture = {
    val database = databases.newDatabase()
    database.execute("CREATE TABLE t (id BIGINT NOT NULL, word TEXT)")
    new JdbcSinkFixture(database)
  }
}
